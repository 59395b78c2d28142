"""Answer length, and the kind of answer that a question asks for (AURA Score, table 2)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from analytics.statistics.arrays import FloatArray
from analytics.statistics.bins import BinnedMean, binned_means, equal_count_bins
from analytics.statistics.bootstrap import DEFAULT_RESAMPLING, Estimate, Resampling
from analytics.statistics.correlation import pearson_and_spearman

AnswerType = Literal["binary", "word", "short", "medium", "long"]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)

# Chinese and Japanese write no spaces: each of their characters counts as a word.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTERS = rf"[^\W{_UNSPACED}]+"
_WORD = re.compile(rf"[{_UNSPACED}]|{_LETTERS}(?:['’-]{_LETTERS})*")
_BINARY = frozenset({"yes", "no", "是", "否", "不是"})


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def answer_types(references: Sequence[str], answers: Sequence[str]) -> list[AnswerType]:
    """By the reference answer where it is yes or no, or one word; the rest by the length of the answer itself, in three
    buckets of about equal counts. Where there is no reference the answer is taken for it."""
    if len(references) != len(answers):
        raise ValueError("Needs one reference answer, empty where there is none, per answer.")
    types = [
        _type_of_reference(reference.strip() or answer)
        for reference, answer in zip(references, answers, strict=True)
    ]
    rest = [number for number, kind in enumerate(types) if kind is None]
    lengths = np.array([count_words(answers[number]) for number in rest], dtype=np.float64)
    for number, bucket in zip(rest, equal_count_bins(lengths, bins=3), strict=True):
        types[number] = ANSWER_TYPES[2 + int(bucket)]
    return [kind for kind in types if kind is not None]


def _type_of_reference(text: str) -> AnswerType | None:
    if text.strip(" .!。！").casefold() in _BINARY:
        return "binary"
    return "word" if count_words(text) <= 1 else None


# How a quantity falls off as texts grow longer (CAFE, figure 3), in bins of about equal counts and as one
# figure.


LENGTH_BINS = 6


@dataclass(frozen=True)
class LengthDecay:
    """bins: by length; `x` is the mean length, as in the paper's figure. srcc: of length and the quantity, below 0
    where it decays."""

    bins: tuple[BinnedMean, ...]
    srcc: Estimate


def length_decay(
    lengths: Sequence[float] | FloatArray,
    values: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> LengthDecay:
    """Items without a finite number in both are left out."""
    return LengthDecay(
        binned_means(lengths, values, most_bins=LENGTH_BINS, clusters=clusters, resampling=resampling),
        pearson_and_spearman(lengths, values, clusters=clusters, resampling=resampling)[1],
    )
