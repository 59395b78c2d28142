"""Scoring the rows of a file, with no study around them."""
