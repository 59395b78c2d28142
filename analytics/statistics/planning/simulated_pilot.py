"""Simulated pilot: a planned study run many times with synthetic raters (Monte Carlo)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.agreement.disagreement import AnyLevel
from analytics.statistics.agreement.running_alpha import RunningAlpha
from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.intervals import t_quantile
from analytics.statistics.planning.sample_size import StudyDesign, VarianceComponents

# Synthetic raters: votes that a planned study might bring in, drawn many times over. An output's latent
# quality is its system's, plus what its item and it itself add; a rater adds severity, every vote noise. A
# rating is that sum, put on the nearest point of the scale. A preference is the sign of such a sum between
# two outputs, with a lean towards what is shown first, and a tie where it is too small to tell. Careless
# raters answer anything. One generator draws all, so a seed gives the same votes again.


_NORMAL = NormalDist()
Value = TypeVar("Value", bound=np.generic)
# Where a unit normal lies, and how often.
_SHARED = np.linspace(-6, 6, 241).tolist()
_WEIGHTS = np.exp(-np.square(_SHARED) / 2) / np.exp(-np.square(_SHARED) / 2).sum()


@dataclass(frozen=True)
class RatingScale:
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
    """Systems whose means lie `difference` apart, one from the next, around the middle; the first is the best."""

    scale: RatingScale
    components: VarianceComponents
    difference: float
    careless: float = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        return self.scale.points


@dataclass(frozen=True)
class PreferenceWorld:
    """Of the votes on two systems next to each other that are no ties, the better one wins `win_rate`; the first is
    the best. between_items, between_raters: correlations of two votes, as `sample_size` has them. shown_first: the
    share that what is shown first wins where there is nothing to choose."""

    win_rate: float
    ties: float = 0.0
    between_items: float = 0.0
    between_raters: float = 0.0
    shown_first: float = 0.5
    careless: float = 0.0
    values = (0.0, 0.5, 1.0)


World = RatingWorld | PreferenceWorld


@dataclass(frozen=True)
class SyntheticRaters:
    """(runs, items, blocks, overlap) who votes on what, and (runs, raters) who is careless."""

    who: IntArray
    careless: NDArray[np.bool_]

    def of_votes(self, per_rater: NDArray[Value]) -> NDArray[Value]:
        """What (runs, raters) is for the rater of each vote."""
        return np.asarray(per_rater[np.arange(len(self.who)).reshape(-1, 1, 1, 1), self.who])


def system_pairs(systems: int) -> list[tuple[int, int]]:
    """The blocks of a study of preferences: all pairs, the better one first."""
    return [(one, other) for one in range(systems) for other in range(one + 1, systems)]


def draw_raters(
    rng: np.random.Generator, design: StudyDesign, *, runs: int, careless: float
) -> SyntheticRaters:
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
    return SyntheticRaters(np.ascontiguousarray(who), rng.random((runs, raters)) < careless)


def draw_ratings(
    rng: np.random.Generator, world: RatingWorld, design: StudyDesign, raters: SyntheticRaters
) -> FloatArray:
    """(runs, items, systems, overlap) ratings, on the points of the scale."""
    runs, shape, parts = len(raters.careless), raters.who.shape, world.components
    systems = world.scale.middle - world.difference * (np.arange(design.blocks) - (design.blocks - 1) / 2)
    # Putting a value on the nearest point adds a twelfth of the squared step (Sheppard), which pilots' figures contain.
    noise = math.sqrt(max(parts.residual - world.scale.step**2 / 12, 0.0))
    latent = np.broadcast_to(systems[None, None, :, None], shape).copy()
    latent += rng.normal(0, math.sqrt(parts.items), (runs, design.items, 1, 1))
    latent += rng.normal(0, math.sqrt(parts.outputs), (runs, design.items, design.blocks, 1))
    latent += raters.of_votes(rng.normal(0, math.sqrt(parts.raters), raters.careless.shape))
    latent += rng.normal(0, noise, shape)
    points = np.array(world.scale.points)
    votes = points[np.searchsorted((points[1:] + points[:-1]) / 2, latent)]
    anything = rng.integers(0, len(points), shape)
    return np.where(raters.of_votes(raters.careless), points[anything], votes)


def draw_preferences(
    rng: np.random.Generator,
    world: PreferenceWorld,
    design: StudyDesign,
    raters: SyntheticRaters,
    *,
    systems: int,
) -> FloatArray:
    """(runs, items, pairs, overlap): 1 where the better system wins, 0.5 for a tie, 0."""
    runs, shape = len(raters.careless), raters.who.shape
    lead, width = _lead_and_width(world)
    item, rater = (
        _latent_correlation(r, lead=lead, width=width) for r in (world.between_items, world.between_raters)
    )
    steps = np.array([other - one for one, other in system_pairs(systems)], dtype=np.float64)
    latent = np.broadcast_to((lead * steps)[None, None, :, None], shape).copy()
    latent += rng.normal(0, math.sqrt(item), (runs, design.items, design.blocks, 1))
    leaning = [rng.normal(0, math.sqrt(rater), raters.careless.shape) for _ in range(design.blocks)]
    for block, of_rater in enumerate(leaning):
        latent[:, :, block] += of_rater[np.arange(runs).reshape(-1, 1, 1), raters.who[:, :, block]]
    latent += rng.normal(0, math.sqrt(max(1 - item - rater, 0.0)), shape)
    latent += _NORMAL.inv_cdf(world.shown_first) * np.where(rng.random(shape) < 0.5, 1, -1)
    votes = np.where(np.abs(latent) < width, 0.5, (latent > 0).astype(np.float64))
    anything = rng.choice(world.values if world.ties else [0.0, 1.0], shape)
    return np.where(raters.of_votes(raters.careless), anything, votes)


def _lead_and_width(world: PreferenceWorld) -> tuple[float, float]:
    """The mean of a unit normal, and the width around zero that is a tie, for the wins and ties asked for."""
    wins, losses = (1 - world.ties) * world.win_rate, (1 - world.ties) * (1 - world.win_rate)
    above, below = _NORMAL.inv_cdf(_clip_share(wins)), _NORMAL.inv_cdf(_clip_share(losses))
    return (above - below) / 2, max(-(above + below) / 2, 0.0)


def _clip_share(share: float) -> float:
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
    means = [
        sum(_NORMAL.cdf((lead + math.sqrt(latent) * z + side) / own) for side in (width, -width)) / 2
        for z in _SHARED
    ]
    return float(np.dot(_WEIGHTS, (np.array(means) - mean) ** 2)) / total


# How many votes are in memory at once.
_CELLS = 400_000
# Alpha is followed a vote at a time, so in some runs only: through so many votes, or in one run of five times as many.
# A vote costs more where there are many values.
_ALPHA_VOTES = 40_000
_CHEAP_VALUES = 2000  # squared
PILOT_CHECKPOINTS = 12
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Band:
    """The mean over runs, and the ends between which nine in ten of them lie; None where none has the figure."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PilotCheckpoint:
    """After the first `items` items, with `votes` votes in all.

    half_width: of the interval of a block's mean (or win rate), clustered by item and rater, the mean over blocks.
    found: share of runs that tell the two best systems apart, the better one ahead. better: share of runs in which it
    is ahead at all. ranked: share in which all systems are in the right order. alpha: over the runs it was followed in.
    """

    items: int
    votes: int
    half_width: Band
    found: float | None
    better: float | None
    ranked: float | None
    alpha: Band


@dataclass(frozen=True)
class SimulatedPilot:
    runs: int
    alpha_runs: int
    raters: int
    moments: tuple[PilotCheckpoint, ...]


# Figures of a batch of runs at one checkpoint, each (runs,), by the fields of `PilotCheckpoint`; NaN where undefined.
_BatchFigures = dict[str, FloatArray]


def simulated_pilot(
    world: World,
    design: StudyDesign,
    *,
    systems: int,
    level: AnyLevel,
    runs: int = 200,
    seed: int = 1,
    confidence: float = 0.95,
    progress: Progress = lambda done, total: None,
) -> SimulatedPilot:
    """`systems`: how many there are; `design.blocks` is their number, or that of their pairs for preferences. Raises
    ValueError where it is not, and for fewer than two items or runs."""
    blocks = systems * (systems - 1) // 2 if isinstance(world, PreferenceWorld) else systems
    if design.blocks != blocks or design.items < 2 or runs < 2:
        raise ValueError(f"{systems} systems have {blocks} blocks, and a pilot two items and runs or more.")
    rng = np.random.default_rng(seed)
    # Even steps up to all items.
    steps = range(1, PILOT_CHECKPOINTS + 1)
    checkpoints = sorted({max(2, round(design.items * step / PILOT_CHECKPOINTS)) for step in steps})
    alpha_runs = min(runs, _alpha_runs(world, design))
    size = max(1, _CELLS // design.votes)
    batches: list[list[_BatchFigures]] = [[] for _ in checkpoints]
    for done in range(0, runs, size):
        raters = draw_raters(rng, design, runs=min(size, runs - done), careless=world.careless)
        if isinstance(world, PreferenceWorld):
            votes = draw_preferences(rng, world, design, raters, systems=systems)
        else:
            votes = draw_ratings(rng, world, design, raters)
        alphas = np.full((len(checkpoints), len(votes)), np.nan)
        for run in range(min(max(0, alpha_runs - done), len(votes))):
            alphas[:, run] = followed_alpha(votes[run], checkpoints, values=world.values, level=level)
        for checkpoint, alpha, figures in zip(checkpoints, alphas, batches, strict=True):
            figures.append(
                {"alpha": alpha} | _batch_figures(votes[:, :checkpoint], raters, world, systems, confidence)
            )
        progress(done + len(votes), runs)
    per_item = design.blocks * design.overlap
    moments = (
        _pilot_checkpoint(items, items * per_item, figures)
        for items, figures in zip(checkpoints, batches, strict=True)
    )
    return SimulatedPilot(runs, alpha_runs, design.raters, tuple(moments))


def _alpha_runs(world: World, design: StudyDesign) -> int:
    if design.overlap < 2:
        return 0
    cost = design.votes * (1 + len(world.values) ** 2 // _CHEAP_VALUES)
    return max(_ALPHA_VOTES // cost, int(cost <= 5 * _ALPHA_VOTES))


def followed_alpha(
    votes: FloatArray, checkpoints: Sequence[int], *, values: Sequence[float], level: AnyLevel
) -> list[float]:
    """Alpha of one run, (items, blocks, overlap), at each checkpoint; NaN where undefined.

    Where only sides count, ties are left out."""
    sided = level == "symmetric"
    running = RunningAlpha((0.0, 1.0) if sided else values, level)
    alphas = []
    for start, checkpoint in zip([0, *checkpoints], checkpoints, strict=False):
        for item in range(start, checkpoint):
            for block, answers in enumerate(votes[item].tolist()):
                for vote in answers:
                    if not (sided and vote == 0.5):
                        running.add((item, block), vote)
        alpha = running.alpha()
        alphas.append(math.nan if alpha is None else alpha)
    return alphas


def clustered_half_widths(
    votes: FloatArray, raters: SyntheticRaters, *, confidence: float = 0.95
) -> FloatArray:
    """(runs, blocks) half intervals of the means of (runs, items, blocks, overlap) votes, clustered by item and rater.

    The two-way variance of Cameron, Gelbach & Miller (J. Bus. Econ. Stat. 29, 2011): by item, plus by rater, less by
    vote; never below the larger of the first two. NaN for one rater, whom nothing tells from the rest.
    """
    runs, items, blocks, overlap = votes.shape
    n, n_raters = items * overlap, raters.careless.shape[1]
    if n_raters < 2:
        return np.full((runs, blocks), np.nan)
    apart = votes - votes.mean(axis=(1, 3), keepdims=True)
    by_item = (apart.sum(axis=3) ** 2).sum(axis=1) * items / (items - 1)
    cell = (np.arange(runs)[:, None, None, None] * blocks + np.arange(blocks)[:, None]) * n_raters
    sums = np.bincount(
        (cell + raters.who[:, :items, :blocks]).ravel(), apart.ravel(), minlength=runs * blocks * n_raters
    )
    by_rater = (sums.reshape(runs, blocks, n_raters) ** 2).sum(axis=2) * n_raters / (n_raters - 1)
    by_vote = (apart**2).sum(axis=(1, 3)) * n / (n - 1)
    variance = np.maximum(by_item + by_rater - by_vote, np.maximum(by_item, by_rater)) / n**2
    df = min(items, n_raters) - 1
    return np.asarray(np.sqrt(variance) * t_quantile((1 + confidence) / 2, df=df))


def _batch_figures(
    so_far: FloatArray, raters: SyntheticRaters, world: World, systems: int, confidence: float
) -> _BatchFigures:
    """What the votes on the first items, (runs, items, blocks, overlap), say."""
    preference, checkpoint = isinstance(world, PreferenceWorld), so_far.shape[1]
    half = clustered_half_widths(so_far, raters, confidence=confidence).mean(axis=1)
    of_items = so_far.mean(axis=3)
    # By item, how far the best is ahead of the next: their difference, or the lead of the better one.
    ahead = of_items[:, :, 0] - (0.5 if preference else of_items[:, :, 1] if systems > 1 else np.nan)
    lead = ahead.mean(axis=1)
    if preference:
        error = clustered_half_widths(so_far[:, :, :1], raters, confidence=confidence)[:, 0]
    else:  # severity falls on either system alike, so items are all that hangs together
        t = t_quantile((1 + confidence) / 2, df=checkpoint - 1)
        error = ahead.std(axis=1, ddof=1) / math.sqrt(checkpoint) * t
    means = of_items.mean(axis=1)
    mean_scores = _mean_win_rates(means, systems) if preference else means
    ranked = (np.diff(mean_scores, axis=1) < 0).all(axis=1)
    defined = ~np.isnan(lead)
    return {
        "half_width": half,
        "found": np.where(np.isnan(error), np.nan, lead > error),
        "better": np.where(defined, (lead > 0) + (lead == 0) / 2, np.nan),
        "ranked": np.where(defined, ranked, np.nan),
    }


def _mean_win_rates(win_rates: FloatArray, systems: int) -> FloatArray:
    """(runs, systems) the mean win rate of each against all others, from those of the pairs (runs, pairs)."""
    total = np.zeros((len(win_rates), systems))
    for pair, (one, other) in enumerate(system_pairs(systems)):
        total[:, one] += win_rates[:, pair]
        total[:, other] += 1 - win_rates[:, pair]
    return total / (systems - 1)


def _pilot_checkpoint(items: int, votes: int, batches: Sequence[_BatchFigures]) -> PilotCheckpoint:
    bands = {name: _band(np.concatenate([batch[name] for batch in batches])) for name in batches[0]}
    shares = {name: bands[name].mean for name in ("found", "better", "ranked")}
    return PilotCheckpoint(items, votes, bands["half_width"], alpha=bands["alpha"], **shares)


def _band(values: FloatArray) -> Band:
    defined = values[np.isfinite(values)]
    if not len(defined):
        return Band(None, None, None)
    low, high = np.quantile(defined, (0.05, 0.95))
    return Band(float(defined.mean()), float(low), float(high))
