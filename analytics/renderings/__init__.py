"""A report's document on a page, in a file, in a paper: each module is one form of the same values."""
