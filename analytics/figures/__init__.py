"""Drawings of figures as SVG, by the same rules on paper and on a page."""
