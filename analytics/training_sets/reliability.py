"""What a rater's vote weighs, by how far they agree with the others.

Of a rater's votes paired with each other rater's vote on the same task, e is the share of equal pairs, drawn towards
the share of all by ten pairs that count as average; c is the share that equals by chance, from how often each answer
is given. The weight is (e - c) / (1 - c), a tenth at least, divided by the mean weight of all votes. Only votes of the
training split are looked at: what is tested on says nothing about whom to trust.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from analytics.statistics.one_left_out import one_left_out

AVERAGE_PAIRS = 10
LEAST = 0.1


@dataclass
class VotesOfQuestion:
    """A column each: the number of the task, the rater's name ("" for nobody's), the choice with both kinds of tie as
    one, the confidence (None where none was told)."""

    task: list[int] = field(default_factory=list)
    rater: list[str] = field(default_factory=list)
    choice: list[int] = field(default_factory=list)
    confidence: list[float | None] = field(default_factory=list)

    def add(self, task: int, rater: str, choice: int, confidence: float | None) -> None:
        self.task.append(task)
        self.rater.append(rater)
        self.choice.append(choice)
        self.confidence.append(confidence)

    def only(self, tasks: Sequence[bool]) -> VotesOfQuestion:
        """Those on the tasks that are marked."""
        kept = [row for row, task in enumerate(self.task) if tasks[task]]
        return VotesOfQuestion(*(_taken(getattr(self, one.name), kept) for one in fields(self)))

    @property
    def mean_confidence(self) -> float | None:
        told = [one for one in self.confidence if one is not None]
        return math.fsum(told) / len(told) if told else None


def weights(votes: VotesOfQuestion) -> dict[str, float]:
    """By rater; nobody's votes, and those of raters who share no task with others, weigh as an average one (1)."""
    named = [number for number, rater in enumerate(votes.rater) if rater]
    if not named:
        return {}
    task, rater, choice = (_taken(column, named) for column in (votes.task, votes.rater, votes.choice))
    found = one_left_out(np.array(task), np.array(rater), np.array(choice, dtype=float), level="nominal")
    paired = [one for one in found if one.pairs and one.equal is not None]
    shares = np.unique(np.array(choice), return_counts=True)[1] / len(choice)
    chance = float((shares**2).sum())
    if not paired or chance > 1 - 1e-9:
        return {}
    pairs = sum(one.pairs for one in paired)
    overall = sum((one.equal or 0.0) * one.pairs for one in paired) / pairs
    raw = {}
    for one in paired:
        equal = ((one.equal or 0.0) * one.pairs + AVERAGE_PAIRS * overall) / (one.pairs + AVERAGE_PAIRS)
        raw[str(one.rater)] = max(LEAST, (equal - chance) / (1 - chance))
    given = {str(one.rater): one.ratings for one in paired}
    mean = sum(raw[name] * given[name] for name in raw) / sum(given.values())
    return {name: weight / mean for name, weight in raw.items()}


def weigher(by_question: Mapping[str, Mapping[str, float]]) -> Callable[[str, str], float]:
    return lambda question, rater: by_question.get(question, {}).get(rater, 1.0)


def _taken(column: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    return [column[row] for row in rows]
