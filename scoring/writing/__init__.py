"""Models that write an item's texts and candidate answers. A pure island: no Django."""
