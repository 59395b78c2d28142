"""Synthetic raters: votes that a planned study might bring in, drawn many times over.

An output's latent quality is its system's, plus what its item and it itself add; a rater adds severity, every vote
noise. A rating is that sum, put on the nearest point of the scale. A preference is the sign of such a sum between two
outputs, with a lean towards what is shown first, and a tie where it is too small to tell. Careless raters answer
anything. One generator draws all, so a seed gives the same votes again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.planning import Components, Design

_NORMAL = NormalDist()
# Where a unit normal lies, and how often.
_SHARED = np.linspace(-6, 6, 241).tolist()
_WEIGHTS = np.exp(-np.square(_SHARED) / 2) / np.exp(-np.square(_SHARED) / 2).sum()


@dataclass(frozen=True)
class Scale:
    """points: the values a rating can have, ascending."""

    points: tuple[float, ...]

    @property
    def step(self) -> float:
        return (self.points[-1] - self.points[0]) / (len(self.points) - 1)

    @property
    def middle(self) -> float:
        return (self.points[0] + self.points[-1]) / 2


@dataclass(frozen=True)
class RatingWorld:
    """Systems whose means lie `difference` apart, one from the next, around `centre`; the first is the best."""

    scale: Scale
    components: Components
    difference: float
    careless: float = 0.0
    centre: float | None = None


@dataclass(frozen=True)
class PreferenceWorld:
    """Of the votes on two systems next to each other that are no ties, the better one wins `win_rate`; the first is
    the best. between_items, between_raters: correlations of two votes, as `planning_pairs` has them. shown_first: the
    share that what is shown first wins where there is nothing to choose."""

    win_rate: float
    ties: float = 0.0
    between_items: float = 0.0
    between_raters: float = 0.0
    shown_first: float = 0.5
    careless: float = 0.0


@dataclass(frozen=True)
class Raters:
    """(runs, items, blocks, overlap) who votes on what, and (runs, raters) who is careless."""

    who: IntArray
    careless: NDArray[np.bool_]

    def of_votes(self, per_rater: FloatArray) -> FloatArray:
        """What (runs, raters) is for the rater of each vote."""
        return np.asarray(per_rater[self._runs, self.who])

    @property
    def careless_votes(self) -> NDArray[np.bool_]:
        return np.asarray(self.careless[self._runs, self.who])

    @property
    def _runs(self) -> IntArray:
        return np.arange(len(self.who)).reshape(-1, 1, 1, 1)


def pairs_of(systems: int) -> list[tuple[int, int]]:
    """The blocks of a study of preferences: all pairs, the better one first."""
    return [(one, other) for one in range(systems) for other in range(one + 1, systems)]


def draw_raters(rng: np.random.Generator, design: Design, *, runs: int, careless: float) -> Raters:
    """Rounds in which all raters are put in a new order and take the next outputs, each rater one place of them; so an
    output meets different people and loads are equal to a vote or two."""
    raters, overlap = design.raters, design.overlap
    units = design.items if design.panel else design.outputs
    per_round = max(raters // overlap, 1)
    rounds = -(-units // per_round)
    orders = rng.permuted(np.tile(np.arange(raters), (runs * rounds, 1)), axis=1)
    taken = orders[:, : per_round * overlap].reshape(runs, rounds * per_round, overlap)[:, :units]
    if design.panel:
        who = np.broadcast_to(taken[:, :, None, :], (runs, design.items, design.blocks, overlap))
    else:
        # Which outputs a round serves is as random as who serves them.
        mixed = rng.permuted(np.tile(np.arange(units), (runs, 1)), axis=1)
        who = np.take_along_axis(taken, mixed[:, :, None], axis=1)
        who = who.reshape(runs, design.items, design.blocks, overlap)
    return Raters(np.ascontiguousarray(who), rng.random((runs, raters)) < careless)


def draw_ratings(rng: np.random.Generator, world: RatingWorld, design: Design, raters: Raters) -> FloatArray:
    """(runs, items, systems, overlap) ratings, on the points of the scale."""
    runs, shape, parts = len(raters.careless), raters.who.shape, world.components
    centre = world.scale.middle if world.centre is None else world.centre
    systems = centre - world.difference * (np.arange(design.blocks) - (design.blocks - 1) / 2)
    # Putting a value on the nearest point adds a twelfth of the squared step (Sheppard), which pilots' figures contain.
    noise = math.sqrt(max(parts.residual - world.scale.step**2 / 12, 0.0))
    latent = np.broadcast_to(systems[None, None, :, None], shape).copy()
    latent += rng.normal(0, math.sqrt(parts.items), (runs, design.items, 1, 1))
    latent += rng.normal(0, math.sqrt(parts.outputs), (runs, design.items, design.blocks, 1))
    latent += raters.of_votes(rng.normal(0, math.sqrt(parts.raters), raters.careless.shape))
    latent += rng.normal(0, noise, shape)
    points = np.array(world.scale.points)
    said = points[np.searchsorted((points[1:] + points[:-1]) / 2, latent)]
    anything = rng.integers(0, len(points), shape)
    return np.where(raters.careless_votes, points[anything], said)


def draw_preferences(
    rng: np.random.Generator, world: PreferenceWorld, design: Design, raters: Raters, *, systems: int
) -> FloatArray:
    """(runs, items, pairs, overlap): 1 where the better system wins, 0.5 for a tie, 0."""
    runs, shape = len(raters.careless), raters.who.shape
    lead, width = _lead_and_width(world)
    item, rater = (
        _latent_correlation(r, lead=lead, width=width) for r in (world.between_items, world.between_raters)
    )
    steps = np.array([other - one for one, other in pairs_of(systems)], dtype=np.float64)
    latent = np.broadcast_to((lead * steps)[None, None, :, None], shape).copy()
    latent += rng.normal(0, math.sqrt(item), (runs, design.items, design.blocks, 1))
    leaning = [rng.normal(0, math.sqrt(rater), raters.careless.shape) for _ in range(design.blocks)]
    for block, of_rater in enumerate(leaning):
        latent[:, :, block] += of_rater[np.arange(runs).reshape(-1, 1, 1), raters.who[:, :, block]]
    latent += rng.normal(0, math.sqrt(max(1 - item - rater, 0.0)), shape)
    latent += _NORMAL.inv_cdf(world.shown_first) * np.where(rng.random(shape) < 0.5, 1, -1)
    said = np.where(np.abs(latent) < width, 0.5, (latent > 0).astype(np.float64))
    anything = rng.choice([0.0, 0.5, 1.0] if world.ties else [0.0, 1.0], shape)
    return np.where(raters.careless_votes, anything, said)


def _lead_and_width(world: PreferenceWorld) -> tuple[float, float]:
    """The mean of a unit normal, and the width around zero that is a tie, for the wins and ties asked for."""
    wins, losses = (1 - world.ties) * world.win_rate, (1 - world.ties) * (1 - world.win_rate)
    above, below = _NORMAL.inv_cdf(_inside(wins)), _NORMAL.inv_cdf(_inside(losses))
    return (above - below) / 2, max(-(above + below) / 2, 0.0)


def _inside(share: float) -> float:
    return min(max(share, 1e-9), 1 - 1e-9)


def _latent_correlation(of_votes: float, *, lead: float, width: float) -> float:
    """What two unit normals of mean `lead` have to share for votes made of them to be so correlated.

    Given what is shared, votes are independent, so their covariance is the variance of a vote's mean given that. At
    even chances and without ties it is (2 / pi) asin r (Sheppard 1899).
    """
    if of_votes <= 0:
        return 0.0
    low, high = 0.0, 1 - 1e-6
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _vote_correlation(middle, lead, width) >= of_votes else (middle, high)
    return high


def _vote_correlation(latent: float, lead: float, width: float) -> float:
    wins, losses = _NORMAL.cdf(lead - width), _NORMAL.cdf(-lead - width)
    mean = (1 + wins - losses) / 2
    total = wins + (1 - wins - losses) / 4 - mean**2
    own = math.sqrt(1 - latent)
    given = [
        sum(_NORMAL.cdf((lead + math.sqrt(latent) * z + side) / own) for side in (width, -width)) / 2
        for z in _SHARED
    ]
    return float(np.dot(_WEIGHTS, (np.array(given) - mean) ** 2)) / total
