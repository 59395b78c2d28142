"""Scoring the rows of a file, with no study around them."""

from scoring.files.file_scoring import Summary, score_file

__all__ = ["Summary", "score_file"]
