"""Rankings of systems from pairwise votes: win rates, and strengths of the Bradley-Terry family.

Bradley & Terry, Biometrika 39, 1952. Strengths are log-odds: of votes that prefer one of two systems, the share for the
one is 1 / (1 + exp(-(difference of strengths))). Counting ties as half a win for each would keep the order and draw the
strengths together, so they have a parameter of their own. With ordered margins (see `bradley_terry`) it is the chance
to be ahead at all, ties included, that has these odds. "Both bad" says nothing about which is better: it is counted,
shown, and part of no strength and no win rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.bootstrap import (
    Interval,
    Resampling,
    multinomial_weights,
    percentile_interval,
    resample_weights,
)
from analytics.statistics.correlation import kendall
from analytics.statistics.intervals import FEWEST_CLUSTERS, expanded_percentiles
from analytics.statistics.ranking.bradley_terry import Davidson, Fits, fit_strengths
from analytics.statistics.ranking.comparisons import (
    BOTH_BAD,
    TIE,
    ClusterCounts,
    Comparisons,
    VoteTallies,
    tally_votes,
)
from analytics.statistics.ranking.count_tables import (
    CellWeights,
    ConfidenceUse,
    CountTable,
    cell_weights,
    connected_systems,
    count_table,
    undefeated_blocks,
)

WALD, VOTES = "wald", "votes"

# A fit solves for all strengths at once: this is for systems, not for the items they made.
MAX_SYSTEMS = 500
# Strengths that differ by less are equal: they are of order one.
_EQUAL_STRENGTHS = 1e-9
# How many numbers a piece of the work may hold at once.
_CELLS = 4_000_000

SENTENCES = {
    "no_comparisons": "No vote compares this system with another.",
    "only_ties": "Every vote is a tie, so there is no telling how much a difference would count.",
    "separated": "Some systems never lost to the others, so nothing bounds how much better they are.",
    "undetermined": "The votes cannot tell strengths from the advantage of being shown first: "
    "pairs need to be shown in both orders.",
    "disconnected": "Comparisons do not join all systems: strengths and ranks hold within each group alone.",
    "too_many": "There are more than %(most)s systems, too many to be ranked together.",
    "one_cluster": "All votes belong together, so they cannot say how uncertain this is.",
    "few_clusters": "Fewer than five raters or prompts cannot say how uncertain this is.",
    "mostly_undefined": "In most resamples of the votes the strengths are not defined, so there is no interval.",
    "weighted": "Weighted votes do not hold the information that their weights add up to, so there is no "
    "interval.",
}


@dataclass(frozen=True)
class RankingSettings:
    """How to rank. Raises ValueError for values that make no sense.

    intervals: "votes" draws votes anew, as if independent; the name of a clustering ("rater", "prompt") draws its
    clusters, each with all its votes; "wald" takes the inverse information, which is fast and treats votes as
    independent. Where raters differ or prompts favour a system, only the clustered ones are honest.
    confidence: "margin" reads it as how far the preferred system is ahead, in ordered steps; "weight" multiplies each
    vote by `weights` of its confidence, or by confidence / highest confidence given. Votes without one are then left
    out and counted, but for ties under "margin".
    ridge: see `PairDesign`; 0 gives maximum likelihood. position: estimate what being shown first is worth.
    """

    intervals: str
    confidence: ConfidenceUse = "ignore"
    weights: Mapping[float, float] | None = None
    ridge: float = 0.0
    position: bool = False
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.confidence not in ("ignore", "weight", "margin"):
            raise ValueError(f"Confidence is ignored, a weight or a margin; got {self.confidence!r}.")
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise ValueError(f"A ridge is a finite number of zero or more; got {self.ridge}.")
        if self.weights is not None and self.confidence != "weight":
            raise ValueError("Weights are given, but confidence is not used as a weight.")


@dataclass(frozen=True)
class ParameterEstimate:
    value: float
    interval: Interval | None


@dataclass(frozen=True)
class RankedSystem:
    """A line of the ranking. Votes are counted whole, whatever their confidence.

    strength: log-odds against the mean of the group. win_rate: (wins + ties / 2) / (wins + losses + ties), None where
    there are none of these; its interval comes from resampling, so Wald's ranking has none.
    """

    system: str
    strength: float | None
    interval: Interval | None
    rank: int | None
    rank_interval: tuple[int, int] | None
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    win_rate_interval: Interval | None


@dataclass(frozen=True)
class RankedGroup:
    """Systems that comparisons join, best first; without strengths by win rate.

    blocks: groups of which none ever lost to a later one; with more than one, only a ridge gives strengths.
    nu: Davidson's tie parameter; thresholds: of the ordered margins, without the 0 there is where no vote is a tie.
    first_shown: log-odds that being shown first adds. reason: why there are no strengths; interval_reason: why no
    intervals. degenerate: of the replicates, how many left the strengths undefined; intervals rest on the others.
    """

    systems: tuple[RankedSystem, ...]
    blocks: tuple[tuple[str, ...], ...]
    nu: ParameterEstimate | None = None
    thresholds: tuple[ParameterEstimate, ...] = ()
    first_shown: ParameterEstimate | None = None
    reason: str | None = None
    interval_reason: str | None = None
    degenerate: int = 0


@dataclass(frozen=True)
class Ranking:
    """Groups, largest first; their strengths cannot be compared with each other's.

    votes: all that were counted, among them those both bad and those left out for want of a confidence.
    clusters: how many votes, raters or prompts were drawn from; 0 with Wald's intervals. reason: "disconnected".
    """

    settings: RankingSettings
    groups: tuple[RankedGroup, ...]
    votes: int
    both_bad: int
    without_confidence: int
    clusters: int
    reason: str | None


@dataclass(frozen=True)
class _FittedGroup:
    table: CountTable
    fits: Fits
    values: FloatArray
    replicates: ReplicateFits

    def intervals(self, settings: RankingSettings, clusters: int) -> Intervals:
        if settings.intervals != WALD:
            if clusters < FEWEST_CLUSTERS:
                return Intervals(reason="one_cluster" if clusters < 2 else "few_clusters")
            return self.replicates.intervals(settings.resampling.level, clusters)
        if settings.confidence == "weight":
            return Intervals(reason="weighted")
        return wald_intervals(self.table, self.fits, level=settings.resampling.level)


def rank_systems(comparisons: Comparisons, settings: RankingSettings) -> Ranking:
    """Raises ValueError for intervals by a clustering that was not counted, and for unusable weights."""
    by, wald = settings.intervals, settings.intervals == WALD
    clusters = 0 if wald else count_clusters(comparisons, by=by)
    use = cell_weights(comparisons, settings.confidence, settings.weights)
    used = use.weight > 0
    groups = connected_systems(
        len(comparisons.systems), one=comparisons.first[used], other=comparisons.second[used]
    )
    fitted = [_fit_group(comparisons, use, group, settings) for group in groups]
    # Per system; None for one that most replicates do not compare.
    rate_intervals: Sequence[Interval | None] = [None] * len(comparisons.systems)
    if clusters >= FEWEST_CLUSTERS:
        rates = []
        for cells in replicate_counts(comparisons, by=by, resampling=settings.resampling):
            rates.append(tally_votes(comparisons, cells).rate)
            for one in fitted:
                if isinstance(one, _FittedGroup):
                    one.replicates.add(cells)
        level, quantiles = (
            settings.resampling.level,
            expanded_percentiles(settings.resampling.level, clusters),
        )
        columns = np.concatenate(rates).T
        rate_intervals = [percentile_interval(column, level, quantiles=quantiles) for column in columns]
    once = tally_votes(comparisons, comparisons.count[None].astype(np.float64))
    votes = _SystemVotes(comparisons.systems, once, rate_intervals)
    ranked = []
    for group, one in zip(groups, fitted, strict=True):
        blocks = undefeated_blocks(comparisons, use, group)
        intervals = Intervals() if isinstance(one, str) else one.intervals(settings, clusters)
        ranked.append(_ranked_group(votes, group, one, blocks, intervals))
    return Ranking(
        settings=settings,
        groups=tuple(ranked),
        votes=comparisons.votes,
        both_bad=int(comparisons.count[comparisons.outcome == BOTH_BAD].sum()),
        without_confidence=use.without_confidence,
        clusters=clusters,
        reason="disconnected" if len(groups) > 1 else None,
    )


def _fit_group(
    comparisons: Comparisons, use: CellWeights, group: IntArray, settings: RankingSettings
) -> _FittedGroup | str:
    """The point estimate, or the reason why there is none."""
    inside = (use.weight > 0) & np.isin(comparisons.first, group)
    if not inside.any():
        return "no_comparisons"
    if len(group) > MAX_SYSTEMS:
        return "too_many"
    if (comparisons.outcome[inside] == TIE).all():
        return "only_ties"
    by_margin = settings.confidence == "margin"
    table = count_table(
        comparisons, use, group, by_margin=by_margin, position=settings.position, ridge=settings.ridge
    )
    counts = table.counts(comparisons.count[None].astype(np.float64))
    shared = table.model.start(counts.sum(axis=(0, 1)))
    start = np.concatenate([np.zeros(len(group) + settings.position), shared])
    fits = fit_strengths(table.design, table.model, counts, start=start, covariance=True)
    if not fits.found[0]:
        return "separated" if fits.identified[0] else "undetermined"
    return _FittedGroup(
        table,
        fits,
        natural_scale(table, fits.parameters, counts)[0],
        ReplicateFits(table, fits.parameters[0]),
    )


@dataclass(frozen=True)
class _SystemVotes:
    """What lines are made from, whether or not there are strengths."""

    systems: tuple[str, ...]
    tallies: VoteTallies
    rate_intervals: Sequence[Interval | None]

    def line(
        self,
        system: int,
        *,
        strength: ParameterEstimate | None = None,
        rank: int | None = None,
        rank_interval: tuple[int, int] | None = None,
    ) -> RankedSystem:
        votes = {name: int(counts[0, system]) for name, counts in vars(self.tallies).items()}
        rate = float(self.tallies.rate[0, system])
        return RankedSystem(
            system=self.systems[system],
            strength=strength.value if strength else None,
            interval=strength.interval if strength else None,
            rank=rank,
            rank_interval=rank_interval,
            win_rate=None if math.isnan(rate) else rate,
            win_rate_interval=self.rate_intervals[system],
            **votes,
        )


def _ranked_group(
    votes: _SystemVotes,
    group: IntArray,
    fitted: _FittedGroup | str,
    blocks: list[IntArray],
    intervals: Intervals,
) -> RankedGroup:
    named = tuple(tuple(votes.systems[system] for system in block) for block in blocks)
    if isinstance(fitted, str):
        lines = [votes.line(int(system)) for system in group]
        lines.sort(key=lambda line: (-1.0 if line.win_rate is None else -line.win_rate, line.system))
        return RankedGroup(tuple(lines), named, reason=fitted)
    n, position = len(group), fitted.table.design.position
    spans: Sequence[Interval | None] = intervals.parameters or [None] * len(fitted.values)
    figures = [
        ParameterEstimate(float(value), span) for value, span in zip(fitted.values, spans, strict=True)
    ]
    ranks = ranks_of(fitted.values[None, :n])[0].tolist()
    rank_spans: Sequence[tuple[int, int] | None] = intervals.ranks or [None] * n
    lines = [
        votes.line(int(system), strength=figures[k], rank=ranks[k], rank_interval=rank_spans[k])
        for k, system in enumerate(group)
    ]
    shared = figures[n + position :]
    by_margin = fitted.table.by_margin
    return RankedGroup(
        systems=tuple(sorted(lines, key=lambda line: (line.rank or 0, line.system))),
        blocks=named,
        nu=shared[0] if shared and not by_margin else None,
        thresholds=tuple(shared) if by_margin else (),
        first_shown=figures[n] if position else None,
        interval_reason=intervals.reason,
        degenerate=intervals.degenerate,
    )


# Intervals of strengths and ranks: from replicates of the votes, or from the information in them.


@dataclass(frozen=True)
class Intervals:
    """Of each parameter, in the order of `Fits.parameters`, nu in place of its log; and of each system's rank.

    degenerate: how many replicates left the strengths undefined. reason: where there are no intervals.
    """

    parameters: list[Interval] | None = None
    ranks: list[tuple[int, int]] | None = None
    degenerate: int = 0
    reason: str | None = None


def ranks_of(strengths: FloatArray) -> IntArray:
    """1 for the strongest of each row; systems of equal strength share the better rank."""
    return np.asarray(1 + (strengths[:, None, :] > strengths[:, :, None] + _EQUAL_STRENGTHS).sum(axis=2))


def natural_scale(table: CountTable, parameters: FloatArray, counts: FloatArray) -> FloatArray:
    """Davidson's log nu as nu, which is 0 without ties."""
    if not (isinstance(table.model, Davidson) and table.model.ties):
        return parameters
    out = parameters.copy()
    out[:, -1] = np.where(counts[..., 2].sum(axis=1) > 0, np.exp(out[:, -1]), 0)
    return out


class ReplicateFits:
    """The fits of one table's replicates, a piece at a time."""

    def __init__(self, table: CountTable, start: FloatArray) -> None:
        self._table, self._start = table, start
        self._parameters: list[FloatArray] = []
        self._found: list[BoolArray] = []

    def add(self, cells: FloatArray) -> None:
        counts = self._table.counts(cells)
        fits = fit_strengths(self._table.design, self._table.model, counts, start=self._start)
        self._parameters.append(natural_scale(self._table, fits.parameters, counts))
        self._found.append(fits.found)

    def intervals(self, level: float, clusters: int) -> Intervals:
        """Between quantiles of the replicates; of the ranks, between the ranks that replicates had.

        clusters: what they were drawn from, which has to be FEWEST_CLUSTERS or more.
        """
        found = np.concatenate(self._found)
        degenerate = int((~found).sum())
        if 2 * degenerate > len(found):
            return Intervals(degenerate=degenerate, reason="mostly_undefined")
        parameters = np.concatenate(self._parameters)[found]
        quantiles = expanded_percentiles(level, clusters)
        ranks = ranks_of(parameters[:, : self._table.design.n])
        ends = np.quantile(ranks, quantiles, axis=0, method="inverted_cdf").T.tolist()
        rank_intervals = [(int(low), int(high)) for low, high in ends]
        return Intervals(_as_pairs(np.quantile(parameters, quantiles, axis=0)), rank_intervals, degenerate)


def wald_intervals(table: CountTable, fits: Fits, *, level: float) -> Intervals:
    """Wald's intervals, as if all votes were independent.

    A system's ranks run from 1 + the systems certainly better to n - those certainly worse: where the interval of the
    difference of the two leaves out 0.
    """
    if fits.covariance is None:
        raise ValueError("These fits were made without their covariance.")
    z, n = NormalDist().inv_cdf((1 + level) / 2), table.design.n
    value, covariance = fits.parameters[0], fits.covariance[0]
    half = z * np.sqrt(np.diag(covariance))
    bounds = np.stack([value - half, value + half])
    if isinstance(table.model, Davidson) and table.model.ties:
        bounds[:, -1] = np.exp(bounds[:, -1])
    variance = np.diag(covariance)[:n]
    apart = variance[:, None] + variance[None, :] - 2 * covariance[:n, :n]
    lead = value[:n, None] - value[None, :n]
    certain = np.abs(lead) > z * np.sqrt(np.maximum(apart, 0)) + _EQUAL_STRENGTHS
    better, worse = (certain & (lead < 0)).sum(axis=1), (certain & (lead > 0)).sum(axis=1)
    return Intervals(_as_pairs(bounds), list(zip((1 + better).tolist(), (n - worse).tolist(), strict=True)))


def _as_pairs(bounds: FloatArray) -> list[Interval]:
    return [(float(low), float(high)) for low, high in bounds.T]


# Resampled count tables: what the study might have counted with other raters, other prompts or other votes.
# Raters (or prompts) are drawn with replacement, each with all their votes, by weighing their tables: no
# vote is read again. With few clusters plain intervals between quantiles come out too narrow: see
# `intervals`.


def replicate_counts(comparisons: Comparisons, *, by: str, resampling: Resampling) -> Iterator[FloatArray]:
    """Pieces (B, cells) of `resampling.replicates` tables, drawn by VOTES or by a clustering of that name."""
    n_cells = len(comparisons.count)
    # A fit holds a square of systems per table.
    rows = max(1, _CELLS // max(n_cells, len(comparisons.systems) ** 2, 1))
    if by == VOTES:
        drawn = multinomial_weights(comparisons.count, resampling)
    else:
        table = comparisons.clusters[by]
        drawn = resample_weights(np.arange(table.size), table.size, resampling)
    for piece in drawn:
        for start in range(0, len(piece), rows):
            weights = piece[start : start + rows]
            yield weights if by == VOTES else _weighted_counts(table, weights, n_cells=n_cells)


def count_clusters(comparisons: Comparisons, *, by: str) -> int:
    """Raises ValueError for a clustering that was not counted."""
    if by == VOTES:
        return comparisons.votes
    if by not in comparisons.clusters:
        known = ", ".join([VOTES, *comparisons.clusters])
        raise ValueError(f"Votes were not counted by {by!r}; known are {known}.")
    return comparisons.clusters[by].size


def _weighted_counts(table: ClusterCounts, weights: FloatArray, *, n_cells: int) -> FloatArray:
    """weights (B, clusters) times the table (clusters, cells), which is spelled out a few clusters at a time."""
    total = np.zeros((len(weights), n_cells))
    step = max(1, _CELLS // n_cells)
    for start in range(0, table.size, step):
        stop = min(start + step, table.size)
        part = slice(*np.searchsorted(table.cluster, [start, stop]))
        spelled = np.zeros((stop - start, n_cells))
        spelled[table.cluster[part] - start, table.cell[part]] = table.count[part]
        total += weights[:, start:stop] @ spelled
    return total


# How far two rankings of the same systems differ: with and without some raters, by one model and by
# another.


@dataclass(frozen=True)
class RankChange:
    """A system's rank and strength in the one ranking and in the other."""

    system: str
    ranks: tuple[int, int]
    strengths: tuple[float, float]


@dataclass(frozen=True)
class RankChanges:
    """All systems that both rank, in the order of the first ranking.

    tau: Kendall's tau-b of the ranks (Biometrika 33, 1945); None below two systems, or where one ranking has all equal.
    """

    systems: tuple[RankChange, ...]
    tau: float | None

    @property
    def moved(self) -> tuple[RankChange, ...]:
        return tuple(one for one in self.systems if one.ranks[0] != one.ranks[1])


def rank_changes(one: Ranking, other: Ranking) -> RankChanges:
    """Compares the largest groups of the two; ranks are those within each, as their own ranking prints them."""
    before, after = _ranks_and_strengths(one), _ranks_and_strengths(other)
    both = [
        RankChange(name, (rank, after[name][0]), (strength, after[name][1]))
        for name, (rank, strength) in before.items()
        if name in after
    ]
    return RankChanges(tuple(both), _kendall_tau(both))


def _ranks_and_strengths(ranking: Ranking) -> dict[str, tuple[int, float]]:
    return {
        row.system: (row.rank, row.strength)
        for row in (ranking.groups[0].systems if ranking.groups else ())
        if row.rank is not None and row.strength is not None
    }


def _kendall_tau(systems: list[RankChange]) -> float | None:
    if len(systems) < 2:
        return None
    x, y = (np.array([float(system.ranks[side]) for system in systems]) for side in (0, 1))
    tau = float(kendall(x, y)(np.ones((1, len(x))))[0])
    return tau if np.isfinite(tau) else None
