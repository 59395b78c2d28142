"""Judgments as people read them: answers in words, what was heard, whether it counts."""
