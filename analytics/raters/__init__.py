"""Quality of raters: maintained figures of each one's work, and the rules of a study that act on them."""
