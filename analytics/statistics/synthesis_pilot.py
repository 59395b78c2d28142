"""A planned study, run many times with synthetic raters before anybody is asked: what it finds, vote by vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.levels import AnyLevel
from analytics.statistics.planning import Design
from analytics.statistics.running_alpha import RunningAlpha
from analytics.statistics.student import t_quantile
from analytics.statistics.synthesis import (
    PreferenceWorld,
    Raters,
    RatingWorld,
    draw_preferences,
    draw_raters,
    draw_ratings,
    pairs_of,
)

# How many votes are in memory at once.
_CELLS = 400_000
# Alpha is followed a vote at a time, so in some runs only: through so many votes, or in one run of five times as many.
# A vote costs more where there are many values.
_ALPHA_VOTES = 40_000
_CHEAP_VALUES = 2000  # squared
STEPS = 12
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Band:
    """The mean over runs, and the ends between which nine in ten of them lie; None where none has the figure."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Moment:
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
    moments: tuple[Moment, ...]


@dataclass(frozen=True, eq=False)
class _Run:
    """Figures of a batch of runs at one moment, each (runs,); NaN where undefined."""

    half_width: FloatArray
    found: FloatArray
    better: FloatArray
    ranked: FloatArray
    alpha: FloatArray


def simulated_pilot(
    world: RatingWorld | PreferenceWorld,
    design: Design,
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
    rng, stops = np.random.default_rng(seed), _stops(design.items)
    alpha_runs = min(runs, _alpha_runs(world, design))
    size = max(1, _CELLS // design.votes)
    moments: list[list[_Run]] = [[] for _ in stops]
    for done in range(0, runs, size):
        raters = draw_raters(rng, design, runs=min(size, runs - done), careless=world.careless)
        said = _said(rng, world, design, raters, systems=systems)
        alphas = _alphas(said[: max(0, alpha_runs - done)], stops, world, level=level, runs=len(said))
        for k, stop in enumerate(stops):
            moments[k].append(_at(said[:, :stop], raters, alphas[k], world, systems, confidence))
        progress(done + len(said), runs)
    per_item = design.blocks * design.overlap
    return SimulatedPilot(
        runs=runs,
        alpha_runs=alpha_runs,
        raters=design.raters,
        moments=tuple(_moment(stop, stop * per_item, moments[k]) for k, stop in enumerate(stops)),
    )


def _alpha_runs(world: RatingWorld | PreferenceWorld, design: Design) -> int:
    if design.overlap < 2:
        return 0
    cost = design.votes * (1 + len(_values(world)) ** 2 // _CHEAP_VALUES)
    return max(_ALPHA_VOTES // cost, int(cost <= 5 * _ALPHA_VOTES))


def _values(world: RatingWorld | PreferenceWorld) -> tuple[float, ...]:
    return (0.0, 0.5, 1.0) if isinstance(world, PreferenceWorld) else world.scale.points


def _said(
    rng: np.random.Generator,
    world: RatingWorld | PreferenceWorld,
    design: Design,
    raters: Raters,
    *,
    systems: int,
) -> FloatArray:
    if isinstance(world, PreferenceWorld):
        return draw_preferences(rng, world, design, raters, systems=systems)
    return draw_ratings(rng, world, design, raters)


def _alphas(
    followed: FloatArray,
    stops: Sequence[int],
    world: RatingWorld | PreferenceWorld,
    *,
    level: AnyLevel,
    runs: int,
) -> FloatArray:
    """(stops, runs) of the first runs of a batch; NaN for those that are not followed."""
    values = _values(world)
    alphas = np.full((len(stops), runs), np.nan)
    for run, votes in enumerate(followed):
        alphas[:, run] = followed_alpha(votes, stops, values=values, level=level)
    return alphas


def followed_alpha(
    said: FloatArray, stops: Sequence[int], *, values: Sequence[float], level: AnyLevel
) -> list[float]:
    """Alpha of one run, (items, blocks, overlap), at each stop; NaN where undefined. Where only sides count, ties are
    left out."""
    sided = level == "symmetric"
    running = RunningAlpha((0.0, 1.0) if sided else values, level)
    alphas = []
    for start, stop in zip([0, *stops], stops, strict=False):
        for item in range(start, stop):
            for block, votes in enumerate(said[item].tolist()):
                for vote in votes:
                    if not (sided and vote == 0.5):
                        running.add((item, block), vote)
        alpha = running.alpha()
        alphas.append(math.nan if alpha is None else alpha)
    return alphas


def clustered_half_widths(said: FloatArray, raters: Raters, *, confidence: float = 0.95) -> FloatArray:
    """(runs, blocks) half intervals of the means of (runs, items, blocks, overlap) votes, clustered by item and rater.

    The two-way variance of Cameron, Gelbach & Miller (J. Bus. Econ. Stat. 29, 2011): by item, plus by rater, less by
    vote; never below the larger of the first two. NaN for one rater, whom nothing tells from the rest.
    """
    runs, items, blocks, overlap = said.shape
    n, n_raters = items * overlap, raters.careless.shape[1]
    if n_raters < 2:
        return np.full((runs, blocks), np.nan)
    apart = said - said.mean(axis=(1, 3), keepdims=True)
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


def _at(
    so_far: FloatArray,
    raters: Raters,
    alpha: FloatArray,
    world: RatingWorld | PreferenceWorld,
    systems: int,
    confidence: float,
) -> _Run:
    """What the votes on the first items, (runs, items, blocks, overlap), say."""
    preference, stop = isinstance(world, PreferenceWorld), so_far.shape[1]
    half = clustered_half_widths(so_far, raters, confidence=confidence).mean(axis=1)
    of_items = so_far.mean(axis=3)
    # By item, how far the best is ahead of the next: their difference, or the lead of the better one.
    ahead = of_items[:, :, 0] - (0.5 if preference else of_items[:, :, 1] if systems > 1 else np.nan)
    lead = ahead.mean(axis=1)
    if preference:
        error = clustered_half_widths(so_far[:, :, :1], raters, confidence=confidence)[:, 0]
    else:  # severity falls on either system alike, so items are all that hangs together
        error = ahead.std(axis=1, ddof=1) / math.sqrt(stop) * t_quantile((1 + confidence) / 2, df=stop - 1)
    means = of_items.mean(axis=1)
    standing = _standing(means, systems) if preference else means
    ranked = (np.diff(standing, axis=1) < 0).all(axis=1)
    there = ~np.isnan(lead)
    tested = ~np.isnan(error)
    return _Run(
        half_width=half,
        found=np.where(tested, lead > error, np.nan),
        better=np.where(there, (lead > 0) + (lead == 0) / 2, np.nan),
        ranked=np.where(there, ranked, np.nan),
        alpha=alpha,
    )


def _standing(win_rates: FloatArray, systems: int) -> FloatArray:
    """(runs, systems) the mean win rate of each against all others, from those of the pairs (runs, pairs)."""
    total = np.zeros((len(win_rates), systems))
    for pair, (one, other) in enumerate(pairs_of(systems)):
        total[:, one] += win_rates[:, pair]
        total[:, other] += 1 - win_rates[:, pair]
    return total / (systems - 1)


def _stops(items: int) -> list[int]:
    """Even steps up to all items."""
    return sorted({max(2, round(items * step / STEPS)) for step in range(1, STEPS + 1)})


def _moment(items: int, votes: int, batches: Sequence[_Run]) -> Moment:
    def joined(name: str) -> FloatArray:
        return np.concatenate([getattr(batch, name) for batch in batches])

    return Moment(
        items=items,
        votes=votes,
        half_width=_band(joined("half_width")),
        found=_band(joined("found")).mean,
        better=_band(joined("better")).mean,
        ranked=_band(joined("ranked")).mean,
        alpha=_band(joined("alpha")),
    )


def _band(values: FloatArray) -> Band:
    there = values[np.isfinite(values)]
    if not len(there):
        return Band(None, None, None)
    low, high = np.quantile(there, (0.05, 0.95))
    return Band(float(there.mean()), float(low), float(high))
