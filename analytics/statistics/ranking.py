"""Rankings of systems from pairwise votes: win rates, and strengths of the Bradley-Terry family.

Bradley & Terry, Biometrika 39, 1952. Strengths are log-odds: of votes that prefer one of two systems, the share for the
one is 1 / (1 + exp(-(difference of strengths))). Counting ties as half a win for each would keep the order and draw the
strengths together, so they have a parameter of their own. With ordered margins (see `ranking_models`) it is the chance
to be ahead at all, ties included, that has these odds. "Both bad" says nothing about which is better: it is counted,
shown, and part of no strength and no win rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.few_clusters import FEWEST
from analytics.statistics.ranking_components import components
from analytics.statistics.ranking_counts import BOTH_BAD, TIE, Comparisons
from analytics.statistics.ranking_fit import Fits, fit
from analytics.statistics.ranking_intervals import (
    Collected,
    Interval,
    Intervals,
    between,
    from_information,
    natural,
    ranks_of,
)
from analytics.statistics.ranking_replicates import n_clusters, replicate_counts
from analytics.statistics.ranking_results import (
    MAX_SYSTEMS,
    WALD,
    Figure,
    RankedGroup,
    RankedSystem,
    Ranking,
    RankingSettings,
)
from analytics.statistics.ranking_tables import Table, Use, blocks_of, table_of, use_of
from analytics.statistics.ranking_win_rates import Tallies, tallies


@dataclass(frozen=True)
class _Fitted:
    table: Table
    fits: Fits
    values: FloatArray
    replicates: Collected


def rank_systems(comparisons: Comparisons, settings: RankingSettings) -> Ranking:
    """Raises ValueError for intervals by a clustering that was not counted, and for unusable weights."""
    by, wald = settings.intervals, settings.intervals == WALD
    clusters = 0 if wald else n_clusters(comparisons, by=by)
    use = use_of(comparisons, settings.confidence, settings.weights)
    used = use.weight > 0
    groups = components(len(comparisons.systems), one=comparisons.first[used], other=comparisons.second[used])
    fitted = [_fitted(comparisons, use, group, settings) for group in groups]
    rates: list[FloatArray] = []
    if clusters >= FEWEST:
        for cells in replicate_counts(comparisons, by=by, resampling=settings.resampling):
            rates.append(tallies(comparisons, cells).rate)
            for one in fitted:
                if isinstance(one, _Fitted):
                    one.replicates.add(cells)
    once = tallies(comparisons, comparisons.count[None].astype(np.float64))
    votes = _Votes(comparisons.systems, once, _rate_intervals(rates, settings, clusters))
    return Ranking(
        settings=settings,
        groups=tuple(
            _group(votes, group, one, blocks_of(comparisons, use, group), _intervals(one, settings, clusters))
            for group, one in zip(groups, fitted, strict=True)
        ),
        votes=comparisons.votes,
        both_bad=int(comparisons.count[comparisons.outcome == BOTH_BAD].sum()),
        without_confidence=use.without_confidence,
        clusters=clusters,
        reason="disconnected" if len(groups) > 1 else None,
    )


def _fitted(comparisons: Comparisons, use: Use, group: IntArray, settings: RankingSettings) -> _Fitted | str:
    """The point estimate, or the reason why there is none."""
    inside = (use.weight > 0) & np.isin(comparisons.first, group)
    if not inside.any():
        return "no_comparisons"
    if len(group) > MAX_SYSTEMS:
        return "too_many"
    if (comparisons.outcome[inside] == TIE).all():
        return "only_ties"
    by_margin = settings.confidence == "margin"
    table = table_of(
        comparisons, use, group, by_margin=by_margin, position=settings.position, ridge=settings.ridge
    )
    counts = table.counts(comparisons.count[None].astype(np.float64))
    shared = table.model.start(counts.sum(axis=(0, 1)))
    start = np.concatenate([np.zeros(len(group) + settings.position), shared])
    fits = fit(table.design, table.model, counts, start=start, covariance=True)
    if not fits.found[0]:
        return "separated" if fits.identified[0] else "undetermined"
    return _Fitted(
        table, fits, natural(table, fits.parameters, counts)[0], Collected(table, fits.parameters[0])
    )


def _intervals(fitted: _Fitted | str, settings: RankingSettings, clusters: int) -> Intervals:
    if isinstance(fitted, str):
        return Intervals()
    if settings.intervals != WALD:
        if clusters < FEWEST:
            return Intervals(reason="one_cluster" if clusters < 2 else "few_clusters")
        return fitted.replicates.intervals(settings.resampling.level, clusters)
    if settings.confidence == "weight":
        return Intervals(reason="weighted")
    return from_information(fitted.table, fitted.fits, level=settings.resampling.level)


def _rate_intervals(
    rates: list[FloatArray], settings: RankingSettings, clusters: int
) -> list[Interval | None] | None:
    """Per system; None for one that most replicates do not compare."""
    if not rates:
        return None
    return [
        between(column[np.isfinite(column)], settings.resampling.level, n=len(column), clusters=clusters)
        for column in np.concatenate(rates).T
    ]


@dataclass(frozen=True)
class _Votes:
    """What lines are made from, whether or not there are strengths."""

    systems: tuple[str, ...]
    tallies: Tallies
    rate_intervals: list[Interval | None] | None

    def line(
        self,
        system: int,
        *,
        strength: Figure | None = None,
        rank: int | None = None,
        rank_interval: tuple[int, int] | None = None,
    ) -> RankedSystem:
        wins, losses, ties, both_bad = (
            int(votes[0, system])
            for votes in (self.tallies.wins, self.tallies.losses, self.tallies.ties, self.tallies.both_bad)
        )
        return RankedSystem(
            system=self.systems[system],
            strength=strength.value if strength else None,
            interval=strength.interval if strength else None,
            rank=rank,
            rank_interval=rank_interval,
            wins=wins,
            losses=losses,
            ties=ties,
            both_bad=both_bad,
            win_rate=float(self.tallies.rate[0, system]) if wins + losses + ties else None,
            win_rate_interval=self.rate_intervals[system] if self.rate_intervals else None,
        )


def _group(
    votes: _Votes, group: IntArray, fitted: _Fitted | str, blocks: list[IntArray], found: Intervals
) -> RankedGroup:
    named = tuple(tuple(votes.systems[system] for system in block) for block in blocks)
    if isinstance(fitted, str):
        lines = [votes.line(int(system)) for system in group]
        lines.sort(key=lambda line: (-1.0 if line.win_rate is None else -line.win_rate, line.system))
        return RankedGroup(tuple(lines), named, reason=fitted)
    n, position = len(group), fitted.table.design.position
    spans: Sequence[Interval | None] = found.parameters or [None] * len(fitted.values)
    figures = [Figure(float(value), span) for value, span in zip(fitted.values, spans, strict=True)]
    ranks = ranks_of(fitted.values[None, :n])[0].tolist()
    rank_spans: Sequence[tuple[int, int] | None] = found.ranks or [None] * n
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
        interval_reason=found.reason,
        degenerate=found.degenerate,
    )
