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
    """n_*: votes, unweighted. `first` and `second`: the weights of the votes for each side, with ties shared by the
    tie policy. p: the share of the first, smoothed; `counted` has the votes behind it."""

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
        """The mean of those that were stated."""
        stated = [answer.confidence for _, answer, _ in self.counted if answer.confidence is not None]
        return math.fsum(stated) / len(stated) if stated else None


def sum_pair_votes(judged: JudgedTask, question: str, context: BuildContext, *, ties: str) -> PairVotes:
    """p = (first + s) / (first + second + 2 s), with s the smoothing: the mean of a beta distribution that was
    Beta(s, s) before the votes. Jeffreys' s = 0.5 keeps one vote of one from being certainty."""
    answers = [
        (judgment, answer) for judgment, answer in judged.answers(question) if answer.choice is not None
    ]
    counted = [
        (judgment, answer, context.vote_weight(judgment, answer))
        for judgment, answer in answers
        if ties != "drop" or answer.choice not in UNDECIDED
    ]
    half = math.fsum(weight for _, answer, weight in counted if answer.choice in UNDECIDED) / 2
    first, second = (half + _weight_of(side, counted) for side in (FIRST, SECOND))
    smoothing = context.options.smoothing
    n = {
        choice: sum(answer.choice == choice for _, answer in answers)
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
    return math.fsum(weight for _, answer, weight in counted if answer.choice == side)
