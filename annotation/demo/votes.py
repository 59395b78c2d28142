"""What the simulated raters have said so far: votes on comparisons, ratings of answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.demo.clips import Comparison
from annotation.demo.evidence import evidence
from annotation.demo.raters import Choice, Rater, allocate, choose, judged_counts, rate
from annotation.demo.scenes import CORRECTNESS, Question

OVERLAP = 3
_REMARKS = {
    "q": "The options are not given.",
    "r": "The reference does not match what I hear.",
    "a": "I had to listen to the recording to decide.",
    "u": "There is no way to tell.",
}


@dataclass(frozen=True)
class Vote:
    comparison: Comparison
    rater: Rater
    alignment: Choice
    musicality: Choice
    feedback: str | None


@dataclass(frozen=True)
class Rating:
    """`value` is missing where the rater could not judge; then `feedback` says why."""

    value: int | None
    feedback: list[str] | None


def vote_on(comparisons: list[Comparison], *, rng: np.random.Generator) -> list[list[Vote]]:
    """The votes of each comparison, empty where it still waits."""
    counts = judged_counts(len(comparisons), overlap=OVERLAP, rng=rng)
    raters = allocate(counts, rng=rng)
    return [[_vote(c, rater, rng=rng) for rater in who] for c, who in zip(comparisons, raters, strict=True)]


def _vote(comparison: Comparison, rater: Rater, *, rng: np.random.Generator) -> Vote:
    alignment = choose(rater, difference=comparison.alignment_difference, rng=rng)
    musicality = choose(rater, difference=comparison.musicality_difference, rng=rng)
    feedback = evidence(
        rater, comparison, aligned_first=alignment.first, musical_first=musicality.first, rng=rng
    )
    return Vote(comparison, rater, alignment, musicality, feedback)


def rate_answers(answers: list[tuple[Question, int]], *, rng: np.random.Generator) -> list[list[Rating]]:
    """The ratings of each (question, index of its answer)."""
    raters = allocate(judged_counts(len(answers), overlap=OVERLAP, rng=rng), rng=rng)
    return [
        [rating(rater, question, index, rng=rng) for rater in who]
        for (question, index), who in zip(answers, raters, strict=True)
    ]


def rating(rater: Rater, question: Question, index: int, *, rng: np.random.Generator) -> Rating:
    """A diligent rater notices a problem and judges by ear; others trust the reference."""
    noticed = bool(question.problem) and rng.random() < rater.diligence
    correctness = CORRECTNESS[index] if noticed else question.by_reference[index]
    value = rate(rater, correctness=correctness, rng=rng)
    if not noticed:
        return Rating(value, None)
    remark = [_REMARKS[question.problem]] if rng.random() < 0.3 else []
    gives_up = question.problem == "u" and rng.random() < 0.5
    return Rating(None if gives_up else value, [question.problem, *remark])
