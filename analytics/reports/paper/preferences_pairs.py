"""Pair by pair: how often one system is preferred to another, and since when that is settled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _

from analytics.figures.win_matrix import MatrixCell, win_matrix
from analytics.reports.document import Block, Cell, Column, Figure, Measured, Paragraph, Table
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.preferences_votes import PairVotes
from analytics.reports.paper.preferences_words import first_votes_note, measured_share, resampled
from analytics.statistics.clustered_share import Share, clustered_share
from analytics.statistics.ranking import rank_systems
from analytics.statistics.ranking_results import WALD, RankingSettings
from analytics.statistics.ranking_win_rates import Pair
from analytics.statistics.ranking_win_rates import pairs as counted_pairs
from analytics.statistics.sequential import SequentialComparison, sequential_comparison
from analytics.vote_frames import BoolArray, Votes
from annotation.models import Answer


@dataclass(frozen=True, eq=False)
class _Pair:
    """A pair with the better placed system first. won: which votes that prefer one were for `one`, in order of time."""

    one: str
    other: str
    counts: Pair
    won: BoolArray
    rate: Share

    def of(self, system: str) -> tuple[int, int]:
        """Wins of the system and of its opponent."""
        wins = (self.counts.one_wins, self.counts.other_wins)
        return wins if system == self.counts.one else wins[::-1]


def pair_blocks(votes: Votes, pairs: PairVotes, settings: ReportSettings) -> Iterator[Block]:
    if not pairs.comparisons.votes:
        return
    order = _order(pairs)
    found = _pairs(pairs, order, settings)
    yield _table(pairs, found, settings)
    yield _matrix(pairs, order, found)
    yield _sequence(pairs, found, settings)


def _order(pairs: PairVotes) -> list[str]:
    """Best first, as ranked; without strengths by win rate."""
    ranking = rank_systems(pairs.comparisons, RankingSettings(intervals=WALD))
    return [line.system for group in ranking.groups for line in group.systems]


def _pairs(pairs: PairVotes, order: list[str], settings: ReportSettings) -> list[_Pair]:
    votes, place = pairs.votes, {name: number for number, name in enumerate(order)}
    rows = np.flatnonzero(pairs.ranks_systems)
    names = np.array([place.get(name, -1) for name in votes.systems])
    first, second = (names[system[votes.unit[rows]]] for system in (votes.units.first, votes.units.second))
    key = np.minimum(first, second) * len(order) + np.maximum(first, second)
    # Doubled, since a tie is half a win.
    half_wins = np.select([votes.value[rows] == c for c in (Answer.Choice.FIRST, Answer.Choice.TIE)], [2, 1])
    half_wins = np.where((first < second) | (half_wins == 1), half_wins, 2 - half_wins)
    told = np.where(votes.value[rows] == Answer.Choice.BOTH_BAD, 0, 2)
    counted = {frozenset((pair.one, pair.other)): pair for pair in counted_pairs(pairs.comparisons)}
    clusters = pairs.clusters(pairs.leading)[rows]
    in_order = np.argsort(key, kind="stable")
    found = []
    for here in np.split(in_order, np.flatnonzero(np.diff(key[in_order])) + 1):
        one, other = (order[place] for place in divmod(int(key[here[0]]), len(order)))
        rate = clustered_share(
            np.where(told, half_wins, 0)[here],
            told[here],
            clusters=clusters[here],
            resampling=settings.resampling,
        )
        decided = here[(half_wins[here] != 1) & (told[here] > 0)]
        found.append(_Pair(one, other, counted[frozenset((one, other))], half_wins[decided] == 2, rate))
    return found


def _table(pairs: PairVotes, found: list[_Pair], settings: ReportSettings) -> Table:
    columns = (
        Column("one", _("System")),
        Column("other", _("Against")),
        Column("votes", _("Votes"), "count"),
        Column("wins", _("Wins"), "count"),
        Column("losses", _("Losses"), "count"),
        Column("ties", _("Ties"), "count"),
        Column("both_bad", _("Both bad"), "count"),
        Column("win_rate", _("Win rate"), "percent", 1),
    )
    rows: list[tuple[Cell, ...]] = []
    for pair in found:
        wins, losses = pair.of(pair.one)
        ties, both_bad = pair.counts.ties, pair.counts.both_bad
        votes = wins + losses + ties + both_bad
        rows.append((pair.one, pair.other, votes, wins, losses, ties, both_bad, measured_share(pair.rate)))
    caption = _("Pairs of systems: %(question)s") % {"question": pairs.votes.question.title}
    clusters = pairs.comparisons.clusters[pairs.leading].size
    notes = [
        _(
            "(Wins + ties / 2) / (wins + losses + ties) of the system named first, the better placed of the two."
        ),
        resampled([(pairs.leading, clusters)], settings.resampling),
        _("Resampled are those who voted on the pair, who can be far fewer."),
        *first_votes_note([pairs]),
    ]
    return Table(f"preferences-{pairs.votes.question.key}-pairs", caption, columns, rows, notes)


def _matrix(pairs: PairVotes, order: list[str], found: list[_Pair]) -> Figure:
    cells = {}
    for pair in found:
        if pair.rate.value is not None:
            n, one, other = pair.rate.n // 2, order.index(pair.one), order.index(pair.other)
            cells[one, other] = MatrixCell(pair.rate.value, n)
            cells[other, one] = MatrixCell(1 - pair.rate.value, n)
    caption = _(
        "Win rates of pairs, in per cent: %(question)s Row against column, ties as half a win; the number of votes is "
        "in small print where there is room."
    ) % {"question": pairs.votes.question.title}
    drawing = win_matrix(_("Win rates of pairs"), order, cells, on_its_own=False)
    return Figure(f"preferences-{pairs.votes.question.key}-matrix", caption, drawing)


def _sequence(pairs: PairVotes, found: list[_Pair], settings: ReportSettings) -> Block:
    if not pairs.order_known[pairs.ranks_systems].all():
        # Whoever recorded which side came first recorded when, too; other imports bring times of any meaning.
        return Paragraph(
            _(
                "Votes that came without the order in which candidates were shown are not trusted to be in the order "
                "of time either, so systems are not compared sequentially."
            )
        )
    level = settings.resampling.level
    columns = (
        Column("one", _("System")),
        Column("other", _("Against")),
        Column("decided_votes", _("Votes that prefer one"), "count"),
        Column("share", _("Share of the first"), "percent", 1),
        Column("log10_e_value", _("Evidence (log10 of the e-value)"), "number", 2),
        Column("settled_after", _("Settled after"), "count"),
        Column("ahead", _("Ahead then")),
    )
    rows = [_sequential_row(pair, sequential_comparison(pair.won, level=level)) for pair in found]
    caption = _("Pairs compared while votes come in: %(question)s") % {"question": pairs.votes.question.title}
    notes = [
        _(
            "Intervals at %(level)s that hold whenever they are looked at (confidence sequences of a mixture of "
            "likelihood ratios), over votes that prefer one of the two, as if independent. A pair is settled when the "
            "evidence against equal systems first reaches %(limit)s, whose log10 is %(log_limit)s; of the %(pairs)s "
            "pairs together, at %(all)s, whose log10 is %(log_all)s (Bonferroni)."
        )
        % {
            "level": f"{100 * level:g} %",
            "limit": f"{1 / (1 - level):.4g}",
            "pairs": f"{len(found):,}",
            "all": f"{len(found) / (1 - level):.4g}",
            "log_limit": f"{-math.log10(1 - level):.2f}",
            "log_all": f"{math.log10(len(found) / (1 - level)):.2f}",
        },
        *first_votes_note([pairs]),
    ]
    return Table(f"preferences-{pairs.votes.question.key}-sequential", caption, columns, rows, notes)


def _sequential_row(pair: _Pair, found: SequentialComparison) -> tuple[Cell, ...]:
    low, high = found.interval or (None, None)
    ahead = {"first": pair.one, "second": pair.other}.get(found.direction or "")
    reason = None if found.votes else _("No vote prefers one of the two.")
    share = Measured(found.share, low, high, reason)
    return (
        pair.one,
        pair.other,
        found.votes,
        share,
        found.log_e_value / math.log(10),
        found.decided_at,
        ahead,
    )
