"""Similarity of an answer's text and its reference answer, by the measures of captioning and translation."""
