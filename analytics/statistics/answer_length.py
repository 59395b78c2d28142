"""How long an answer is, and which kind of answer a question asks for (AURA Score, table 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np

from analytics.statistics.equal_count import equal_count_bins

AnswerType = Literal["binary", "word", "short", "medium", "long"]
TYPES: tuple[AnswerType, ...] = ("binary", "word", "short", "medium", "long")

# Chinese and Japanese write no spaces: each of their characters counts as a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTERS = rf"[^\W{_UNSPACED}]+"
_WORD = re.compile(rf"[{_UNSPACED}]|{_LETTERS}(?:['’-]{_LETTERS})*")
_BINARY = frozenset({"yes", "no", "是", "否", "不是"})


def words(text: str) -> int:
    return len(_WORD.findall(text))


def answer_types(references: Sequence[str], answers: Sequence[str]) -> list[AnswerType]:
    """By the reference answer where it is yes or no, or one word; the rest by the length of the answer itself, in three
    buckets of about equal counts. Where there is no reference the answer is taken for it."""
    if len(references) != len(answers):
        raise ValueError("Needs one reference answer, empty where there is none, per answer.")
    found: list[AnswerType | None] = [
        _asked_for(reference.strip() or answer) for reference, answer in zip(references, answers, strict=True)
    ]
    rest = [number for number, kind in enumerate(found) if kind is None]
    lengths = np.array([words(answers[number]) for number in rest], dtype=np.float64)
    for number, bucket in zip(rest, equal_count_bins(lengths, bins=3), strict=True):
        found[number] = TYPES[2 + int(bucket)]
    return [kind for kind in found if kind is not None]


def _asked_for(text: str) -> AnswerType | None:
    if text.strip(" .!。！").casefold() in _BINARY:
        return "binary"
    return "word" if words(text) <= 1 else None
