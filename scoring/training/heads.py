"""Which question each head of a model of music is about: what it learns from, and what its scores are held against."""

from __future__ import annotations

from collections.abc import Sequence

from scoring.training.contract import HEADS

# Questions of the presets that are about a head without having its name.
_ABOUT = {
    "alignment": ("relevance",),
    "musicality": ("overall", "impression", "quality"),
}
# What the only question of a study is about, whatever it is called.
_ALONE = "musicality"


def heads_of(questions: Sequence[str]) -> dict[str, str]:
    """The head of each question that has one, in the order of HEADS, from the keys of all questions of one kind
    (preferences, or ratings) that a study asks. A head has one question: that of its own name before others."""
    found = {}
    for head in HEADS:
        about = [one for one in questions if one in _ABOUT[head]]
        if own := [one for one in questions if one == head] or about:
            found[own[0]] = head
    if not found and len(questions) == 1:
        return {questions[0]: _ALONE}
    return found
