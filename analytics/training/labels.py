"""Judges' labels in the training of a judge of answers: the scenarios 2 to 5 of ORCA §6.4.

A label is a rating that a scorer predicts for an answer, taken from its stored scores; it is never stored as a vote.
Whatever the use, the parts for selection (dev) and for the figures (test) are people's ratings, and nothing that shares
a group with them is labelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analytics.training.examples import TrainingExample
from scoring.training.contract import RatedAnswer

INSTEAD, ALONE, ADDED, FIRST = "instead", "alone", "added", "first"
# By the number of its scenario in the paper; the first scenario has people's ratings alone.
SCENARIOS: Mapping[str, int] = {INSTEAD: 2, ALONE: 3, ADDED: 4, FIRST: 5}
USES = tuple(SCENARIOS)


@dataclass(frozen=True)
class LabelledAnswers:
    """The answers of a training's only stage, with their ratings; how many of these are labels, on how many answers."""

    answers: Sequence[RatedAnswer]
    n_labels: int
    n_labelled: int

    @property
    def n_votes(self) -> int:
        return sum(len(answer.ratings) for answer in self.answers) - self.n_labels


def with_labels(
    train: Sequence[TrainingExample], labelled: Sequence[TrainingExample], *, use: str
) -> LabelledAnswers:
    """`train`: answers with people's ratings; `labelled`: one example per answer and scorer, of no held-out group.

    `instead`: labels in place of people's ratings, on the same answers; those without a label are left out. `added`:
    people's ratings, and labels as further ratings of the same answers. `alone`: labels of every answer, people's
    ratings nowhere.
    """
    labels: dict[int, list[float]] = {}
    for one in labelled:
        labels.setdefault(one.candidates[0], []).extend(one.example.ratings)
    chosen = {one.candidates[0]: one.example for one in (labelled if use == ALONE else train)}
    if use != ADDED:
        chosen = {candidate: answer for candidate, answer in chosen.items() if candidate in labels}
    answers = [
        replace(answer, ratings=(*(answer.ratings if use == ADDED else ()), *labels.get(candidate, ())))
        for candidate, answer in chosen.items()
    ]
    own = [labels[candidate] for candidate in chosen if candidate in labels]
    return LabelledAnswers(answers, sum(map(len, own)), len(own))


def share_of_terms(n_labels: float, n_votes: float) -> float | None:
    """The share of the labels' influence: of all ratings whose likelihood was maximised, those that were labels. None
    where there was nothing to maximise."""
    return n_labels / (n_labels + n_votes) if n_labels + n_votes else None


def terms_of_stage(record: Mapping[str, Any]) -> float:
    """How many ratings the likelihood was maximised over up to the weights that are kept, one counted as often as it
    was read. `record`: of a finished ORCA training."""
    answers, ratings = record["answers"]["train"], record["ratings"]["train"]
    steps_of_epoch = -(-answers // record["settings"]["batch"])
    return float(record["dev"]["step"] * ratings / steps_of_epoch)
