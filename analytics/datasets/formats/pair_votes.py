"""The votes on one pair, summed up: shares, margins, confidence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from analytics.datasets.formats.contract import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    AnswerRow,
    BuildContext,
    JudgedTask,
    JudgmentRow,
)

UNDECIDED = (TIE, BOTH_BAD)


@dataclass(frozen=True)
class PairVotes:
    """n_*: votes, unweighted. `first` and `second`: what the votes for each side weigh, ties shared as the policy says.
    p: the share of the first, smoothed; `counted` has the votes that stand behind it."""

    n_first: int
    n_second: int
    n_tie: int
    n_both_bad: int
    first: float
    second: float
    p: float
    counted: tuple[tuple[JudgmentRow, AnswerRow, float], ...]

    @property
    def n_votes(self) -> int:
        return len(self.counted)

    @property
    def decided(self) -> bool:
        return not math.isclose(self.first, self.second, rel_tol=1e-12, abs_tol=1e-12)

    @property
    def confidence(self) -> float | None:
        """The mean of those that were given."""
        told = [given.confidence for _, given, _ in self.counted if given.confidence is not None]
        return math.fsum(told) / len(told) if told else None


def sum_pair_votes(judged: JudgedTask, question: str, making: BuildContext, *, ties: str) -> PairVotes:
    """p = (first + s) / (first + second + 2 s), with s the smoothing: the mean of a beta distribution that was
    Beta(s, s) before the votes. Jeffreys' s = 0.5 keeps one vote of one from being certainty."""
    answers = [(said, given) for said, given in judged.answers(question) if given.choice is not None]
    counted = [
        (said, given, making.vote_weight(said, given))
        for said, given in answers
        if ties != "drop" or given.choice not in UNDECIDED
    ]
    half = math.fsum(weight for _, given, weight in counted if given.choice in UNDECIDED) / 2
    first, second = (half + _weight_of(side, counted) for side in (FIRST, SECOND))
    smoothing = making.options.smoothing
    n = {
        choice: sum(given.choice == choice for _, given in answers)
        for choice in (FIRST, SECOND, TIE, BOTH_BAD)
    }
    return PairVotes(
        n_first=n[FIRST],
        n_second=n[SECOND],
        n_tie=n[TIE],
        n_both_bad=n[BOTH_BAD],
        first=first,
        second=second,
        p=(first + smoothing) / (first + second + 2 * smoothing),
        counted=tuple(counted),
    )


def margin(p: float, kind: str) -> float:
    """Of the side whose smoothed share is p."""
    return 2 * p - 1 if kind == "votes" else math.log(p / (1 - p))


def _weight_of(side: int, counted: Iterable[tuple[JudgmentRow, AnswerRow, float]]) -> float:
    return math.fsum(weight for _, given, weight in counted if given.choice == side)
