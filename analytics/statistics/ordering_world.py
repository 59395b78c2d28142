"""Pairs of known truth, what a scorer hears of them, and what every simulated rater would say of each.

All votes are drawn beforehand, one for each rater and pair. Orders that are compared on one world so differ in nothing
but which of these votes they ask for (common random numbers: Law, "Simulation Modeling and Analysis", section 11.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.bootstrap import BoolArray
from analytics.statistics.distinct_rows import FloatArray
from annotation.demo import failures, flaws
from annotation.demo.catalogue import SYSTEMS, load_prompts
from annotation.demo.clips import Outcome, draw_outcome
from annotation.demo.raters import Rater, draw_rater

Question = Literal["musicality", "alignment"]
Votes = NDArray[np.int8]

# Seeds of worlds lie far from the demo's, whose clips people may know.
_WORLD = 7_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """differences: (n,) of the truth in log-odds, positive where the first is better, never 0. features: (n, k) what a
    scorer hears, the first clip's less the second's."""

    differences: FloatArray
    features: FloatArray

    def __len__(self) -> int:
        return len(self.differences)


@dataclass(frozen=True, eq=False)
class World:
    """pairs: those of the study. unseen: others, of which nobody is asked. first: (raters, pairs) whether a rater
    prefers the first clip, whatever side it is shown on."""

    pairs: Pairs
    unseen: Pairs
    first: BoolArray


@dataclass(frozen=True)
class Hearing:
    """How a scorer hears a clip. deafness: the standard deviation of what it mishears of each flaw, whose strength is
    0, 0.5 or 1 (a failure's 0 or 1). distractions: how many other things it hears, of unit variance, that mean nothing.
    """

    deafness: float = 0.5
    distractions: int = 20


def draw_world(
    question: Question, hearing: Hearing, *, pairs: int, unseen: int, raters: int, seed: int
) -> World:
    """A world of the demo's prompts and systems with clips of its own."""
    rng = np.random.default_rng([_WORLD, seed])
    drawn = _draw_pairs(question, hearing, pairs + unseen, seed=seed, rng=rng)
    study, rest = (
        Pairs(drawn.differences[part], drawn.features[part]) for part in (slice(pairs), slice(pairs, None))
    )
    cast = [draw_rater(number, seed=_WORLD + seed) for number in range(1, raters + 1)]
    return World(study, rest, draw_votes(cast, study.differences, rng=rng))


def draw_votes(cast: Sequence[Rater], differences: FloatArray, *, rng: np.random.Generator) -> BoolArray:
    """(raters, pairs) as `annotation.demo.raters.choose` votes, with the sides of each showing drawn by a coin."""
    shape = len(cast), len(differences)
    sensitivity, bias, lapse = (
        np.array([[getattr(rater, name)] for rater in cast])
        for name in ("sensitivity", "position_bias", "lapse")
    )
    side = np.where(rng.random(shape) < 0.5, 1, -1)
    lapsed = rng.random(shape) < lapse
    margin = np.where(lapsed, 0.0, sensitivity * differences * side) + bias + rng.logistic(size=shape)
    return np.asarray((margin > 0) == (side > 0))


def _draw_pairs(
    question: Question, hearing: Hearing, n: int, *, seed: int, rng: np.random.Generator
) -> Pairs:
    """Two systems' answers to one prompt, drawn anew for each pair; those without a better side are left out."""
    prompts, take = load_prompts(), 0
    differences: list[float] = []
    features: list[FloatArray] = []
    while len(differences) < n:
        take += 1
        prompt = prompts[int(rng.integers(len(prompts)))]
        two = rng.choice(len(SYSTEMS), size=2, replace=False)
        first, second = (
            draw_outcome(prompt, SYSTEMS[int(k)], seed=(_WORLD + seed) * 1_000_000 + take) for k in two
        )
        difference = getattr(first, question) - getattr(second, question)
        if abs(difference) < 1e-9:
            continue
        differences.append(difference)
        features.append(_strengths(first, question) - _strengths(second, question))
    meant = np.array(features)
    # Of either clip, so of a difference with twice the variance.
    misheard = rng.normal(0, hearing.deafness * np.sqrt(2), meant.shape)
    beside = rng.normal(0, np.sqrt(2), (n, hearing.distractions))
    return Pairs(np.array(differences), np.hstack([meant + misheard, beside]))


def _strengths(outcome: Outcome, question: Question) -> FloatArray:
    if question == "musicality":
        strengths = {flaw.kind: flaw.strength for flaw in outcome.flaws}
        return np.array([strengths.get(kind, 0.0) for kind in flaws.COSTS])
    return np.array([float(kind in outcome.failures) for kind in failures.COSTS])
