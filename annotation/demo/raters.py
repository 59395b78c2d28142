"""Simulated raters of known reliability, as pure functions of a latent difference or a true correctness.

Differences are in log-odds: a careful rater with sensitivity 1 prefers the first clip with probability
sigmoid(difference), as in Bradley and Terry (1952).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rater:
    """`position_bias` is in log-odds towards the first clip; `severity` and `noise` are in rating points.

    `lapse` is the share of answers given without listening, `diligence` the chance to give evidence or
    to flag a problem.
    """

    name: str
    sensitivity: float
    position_bias: float
    lapse: float
    severity: float
    noise: float
    diligence: float


@dataclass(frozen=True)
class Choice:
    first: bool
    confidence: int


RATERS = (
    #               sensitivity, position_bias, lapse, severity, noise, diligence
    Rater("demo-rater-1", 2.0, 0.05, 0.00, 0.00, 0.25, 0.90),
    Rater("demo-rater-2", 1.7, 0.10, 0.00, -0.10, 0.30, 0.85),
    Rater("demo-rater-3", 1.4, 0.00, 0.02, 0.15, 0.35, 0.70),
    Rater("demo-rater-4", 1.2, 0.25, 0.02, -0.20, 0.45, 0.60),
    Rater("demo-rater-5", 1.0, 0.15, 0.05, 0.25, 0.50, 0.50),
    # The careless one: often answers without listening, and then leans on whatever came first.
    Rater("demo-rater-6", 0.4, 0.60, 0.40, 0.00, 1.00, 0.35),
)  # fmt: skip

_CARELESS_SHARE = 0.15


def draw_rater(number: int, *, seed: int) -> Rater:
    """One of many simulated raters, the same whoever else is drawn: mostly careful, and more or less so; some careless,
    who tell little apart, often answer without listening, and lean on what came first."""
    rng = np.random.default_rng([seed, number])
    careless = rng.random() < _CARELESS_SHARE
    return Rater(
        name=f"simulated-{seed}-{number:02d}",
        sensitivity=float(rng.uniform(0.3, 0.7) if careless else np.clip(rng.lognormal(0.2, 0.4), 0.5, 2.5)),
        position_bias=float(rng.normal(0.5 if careless else 0.1, 0.15)),
        lapse=float(rng.uniform(0.2, 0.5) if careless else rng.uniform(0, 0.06)),
        severity=float(rng.normal(0, 0.2)),
        noise=float(rng.uniform(0.7, 1.1) if careless else rng.uniform(0.25, 0.55)),
        diligence=float(rng.uniform(0.2, 0.5) if careless else rng.uniform(0.5, 0.95)),
    )


def probability_of_first(
    difference: float, *, sensitivity: float = 1.0, position_bias: float = 0.0, lapse: float = 0.0
) -> float:
    """Chance that the first clip is preferred, when it is `difference` better. The defaults are the truth."""
    heard = 1 / (1 + np.exp(-(sensitivity * difference + position_bias)))
    guessed = 1 / (1 + np.exp(-position_bias))
    return float((1 - lapse) * heard + lapse * guessed)


def choose(rater: Rater, *, difference: float, rng: np.random.Generator) -> Choice:
    """One vote: the sign of a noisy margin, with a confidence of 1 to 5 that grows with its size."""
    lapsed = rng.random() < rater.lapse
    margin = (0.0 if lapsed else rater.sensitivity * difference) + rater.position_bias + rng.logistic()
    confidence = int(rng.integers(2, 6)) if lapsed else 1 + round(4 * float(np.tanh(abs(margin) / 3)))
    return Choice(bool(margin > 0), confidence)


def rate(rater: Rater, *, correctness: float, rng: np.random.Generator) -> int:
    """One rating of 1 to 5: the truth, less the rater's severity, with noise; any value at all in a lapse."""
    if rng.random() < rater.lapse:
        return int(rng.integers(1, 6))
    return int(np.clip(round(correctness - rater.severity + float(rng.normal(0, rater.noise))), 1, 5))


def allocate(wanted: list[int], *, rng: np.random.Generator) -> list[list[Rater]]:
    """For each unit as many different raters as wanted, those with the least work first."""
    load = dict.fromkeys(RATERS, 0)
    out = []
    for count in wanted:
        order = [RATERS[int(i)] for i in rng.permutation(len(RATERS))]
        chosen = sorted(order, key=lambda rater: load[rater])[:count]
        load.update({rater: load[rater] + 1 for rater in chosen})
        out.append(chosen)
    return out


def judged_counts(units: int, *, overlap: int, rng: np.random.Generator) -> list[int]:
    """How many votes each unit has so far: half of them all that are wanted, a fifth some, the rest none."""
    done, begun = round(0.5 * units), round(0.2 * units)
    counts = [overlap] * done + [1 + i % max(1, overlap - 1) for i in range(begun)]
    counts += [0] * (units - len(counts))
    return [counts[int(i)] for i in rng.permutation(units)]
