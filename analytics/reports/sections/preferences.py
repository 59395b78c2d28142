"""Which system is preferred: rankings, win rates, position bias and confidence of every preference question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analytics.data import known_answer_trials
from analytics.data.postgres import BoolArray
from analytics.data.votes import NOBODY, Votes
from analytics.reports.document import Block, Cell, Column, Figure, Measured, Paragraph, Section, Table
from analytics.reports.reasons import RANKING, measured, reason_sentence
from analytics.reports.render.win_matrix import MatrixCell, win_matrix
from analytics.reports.sections.material import ReportData, ReportSettings, join_sentences
from analytics.reports.sections.preference_agreement import agreement_blocks, confidence_blocks
from analytics.reports.sections.preference_ranking import ranking_blocks, variant_blocks
from analytics.reports.sections.preference_votes import (
    PreferenceVotes,
    cluster_columns,
    first_votes_note,
    measured_share,
    resampled,
)
from analytics.statistics.intervals import Share, clustered_share, wilson_interval
from analytics.statistics.ranking.comparisons import PairCounts
from analytics.statistics.ranking.comparisons import count_pairs as counted_pairs
from analytics.statistics.ranking.position_bias import order_balance, position_bias
from analytics.statistics.ranking.ranking import WALD, RankedGroup, RankingSettings, rank_systems
from analytics.statistics.ranking.sequential import SequentialComparison, sequential_comparison
from annotation.models import Answer


def trial_blocks(material: ReportData) -> Iterator[Block]:
    report, level = known_answer_trials.abx_report(material.study), material.settings.resampling.level
    if report is None:
        return
    columns = (
        Column("pair", _("Pair")),
        Column("answers", _("Answers"), "count"),
        Column("right", _("Right"), "count"),
        Column("share", _("Share right"), "percent", 1),
        Column("p", _("p, by guessing"), "p", 4),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, one in [*((pair.name, pair) for pair in report.pairs), (_("All pairs"), report.total)]:
        share = Measured(one.share, *wilson_interval(one.correct, one.n, level=level))
        rows.append((name, one.n, one.correct, share, one.guessing))
    notes = [
        _(
            "Intervals of shares are Wilson's at %(level)s; p is the chance of so many right answers or more by "
            "guessing (exact, one-sided). Both take answers as independent."
        )
        % {"level": f"{100 * level:g} %"}
    ]
    yield Table("preferences-abx", _("ABX: answers that named what X was"), columns, rows, notes)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A pair with the better placed system first. won: which votes that prefer one were for `one`, in order of time."""

    one: str
    other: str
    counts: PairCounts
    won: BoolArray
    rate: Share

    @property
    def wins_and_losses(self) -> tuple[int, int]:
        """Of the system named first."""
        wins = (self.counts.one_wins, self.counts.other_wins)
        return wins if self.one == self.counts.one else wins[::-1]


def pair_blocks(votes: Votes, pairs: PreferenceVotes, settings: ReportSettings) -> Iterator[Block]:
    if not pairs.comparisons.votes:
        return
    # Best first, as ranked; without strengths by win rate.
    ranking = rank_systems(pairs.comparisons, RankingSettings(intervals=WALD))
    order = [line.system for group in ranking.groups for line in group.systems]
    system_pairs = _pairs(pairs, order, settings)
    yield _table(pairs, system_pairs, settings)
    yield _matrix(pairs, order, system_pairs)
    yield _sequence(pairs, system_pairs, settings)


def _pairs(pairs: PreferenceVotes, order: list[str], settings: ReportSettings) -> list[_Pair]:
    votes, place = pairs.votes, {name: number for number, name in enumerate(order)}
    rows = np.flatnonzero(pairs.ranks_systems)
    names = np.array([place.get(name, -1) for name in votes.systems])
    first, second = (names[system[votes.unit[rows]]] for system in (votes.units.first, votes.units.second))
    key = np.minimum(first, second) * len(order) + np.maximum(first, second)
    # Doubled, since a tie is half a win.
    half_wins = np.select([votes.value[rows] == c for c in (Answer.Choice.FIRST, Answer.Choice.TIE)], [2, 1])
    half_wins = np.where((first < second) | (half_wins == 1), half_wins, 2 - half_wins)
    weight = np.where(votes.value[rows] == Answer.Choice.BOTH_BAD, 0, 2)
    counted = {frozenset((pair.one, pair.other)): pair for pair in counted_pairs(pairs.comparisons)}
    clusters = pairs.clusters(pairs.leading)[rows]
    in_order = np.argsort(key, kind="stable")
    system_pairs = []
    for here in np.split(in_order, np.flatnonzero(np.diff(key[in_order])) + 1):
        one, other = (order[place] for place in divmod(int(key[here[0]]), len(order)))
        wins = np.where(weight, half_wins, 0)[here]
        rate = clustered_share(wins, weight[here], clusters=clusters[here], resampling=settings.resampling)
        decided = here[(half_wins[here] != 1) & (weight[here] > 0)]
        counts = counted[frozenset((one, other))]
        system_pairs.append(_Pair(one, other, counts, half_wins[decided] == 2, rate))
    return system_pairs


def _table(pairs: PreferenceVotes, system_pairs: list[_Pair], settings: ReportSettings) -> Table:
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
    for pair in system_pairs:
        counts = (*pair.wins_and_losses, pair.counts.ties, pair.counts.both_bad)
        rows.append((pair.one, pair.other, sum(counts), *counts, measured_share(pair.rate)))
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


def _matrix(pairs: PreferenceVotes, order: list[str], system_pairs: list[_Pair]) -> Figure:
    cells = {}
    for pair in system_pairs:
        if pair.rate.value is not None:
            n, one, other = pair.rate.n // 2, order.index(pair.one), order.index(pair.other)
            cells[one, other] = MatrixCell(pair.rate.value, n)
            cells[other, one] = MatrixCell(1 - pair.rate.value, n)
    caption = _(
        "Win rates of pairs, in per cent: %(question)s Row against column, ties as half a win; the number of votes is "
        "in small print where there is room."
    ) % {"question": pairs.votes.question.title}
    drawing = win_matrix(_("Win rates of pairs"), order, cells)
    return Figure(f"preferences-{pairs.votes.question.key}-matrix", caption, drawing)


def _sequence(pairs: PreferenceVotes, system_pairs: list[_Pair], settings: ReportSettings) -> Block:
    if not pairs.order_known[pairs.ranks_systems].all():
        # Whoever recorded which side came first recorded when, too; other imports bring times of any meaning.
        text = _(
            "Votes that came without the order in which candidates were shown are not trusted to be in the order of "
            "time either, so systems are not compared sequentially."
        )
        return Paragraph(text)
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
    rows = [_sequential_row(pair, sequential_comparison(pair.won, level=level)) for pair in system_pairs]
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
            "pairs": f"{len(system_pairs):,}",
            "all": f"{len(system_pairs) / (1 - level):.4g}",
            "log_limit": f"{-math.log10(1 - level):.2f}",
            "log_all": f"{math.log10(len(system_pairs) / (1 - level)):.2f}",
        },
        *first_votes_note([pairs]),
    ]
    return Table(f"preferences-{pairs.votes.question.key}-sequential", caption, columns, rows, notes)


def _sequential_row(pair: _Pair, comparison: SequentialComparison) -> tuple[Cell, ...]:
    low, high = comparison.interval or (None, None)
    ahead = {"first": pair.one, "second": pair.other}.get(comparison.direction or "")
    reason = None if comparison.votes else _("No vote prefers one of the two.")
    share = Measured(comparison.share, low, high, reason)
    evidence = comparison.log_e_value / math.log(10)
    return pair.one, pair.other, comparison.votes, share, evidence, comparison.decided_at, ahead


def position_blocks(votes: Votes, pairs: PreferenceVotes, settings: ReportSettings) -> Iterator[Block]:
    known = pairs.select(pairs.order_known)
    title = {"question": votes.question.title}
    if not len(known.votes):
        text = _(
            "%(question)s Position bias cannot be tested: the order in which candidates were shown is not known."
        )
        yield Paragraph(text % title, warning=True)
        return
    if len(known.votes) < len(pairs.votes):
        text = _("%(n)s votes whose order of presentation is unknown are no part of the tests of position.")
        yield Paragraph(text % {"n": f"{len(pairs.votes) - len(known.votes):,}"})
    yield _bias(known, settings)
    yield _by_order(known)
    yield _balance(votes)


def _bias(known: PreferenceVotes, settings: ReportSettings) -> Table:
    """The share for the side shown first, and what its place is worth once the systems are taken out."""
    decided = known.select(known.decided)
    columns = [
        Column("measure", _("Measure")),
        *cluster_columns("value", _("Value"), known.clusterings, "number", 3),
        Column("votes", _("Votes"), "count"),
    ]
    biases = {
        by: position_bias(
            decided.preferred_first, clusters=decided.clusters(by), resampling=settings.resampling
        )
        for by in known.clusterings
    }
    leading = biases[known.leading]
    n = leading.first.n
    p_value = Measured(leading.p_value, reason=reason_sentence(None if n else "no_votes", RANKING))
    shares = [measured_share(one.first) for one in biases.values()]
    rows: list[tuple[Cell, ...]] = [
        (_("Share that prefers the side shown first"), *shares, n),
        (_("p, exact binomial test of one half"), p_value, *([None] * (len(biases) - 1)), n),
        *_effects(known, settings),
    ]
    notes = [
        _("The share is of votes that prefer one side; without bias it is one half."),
        _(
            "The test takes votes as independent; where raters differ, the interval of the share is the one to go by, "
            "if there are raters enough for one."
        ),
        _(
            "The effect is what being shown first adds to the log-odds, estimated together with the strengths of the "
            "systems: 0 is no effect."
        ),
        resampled([(by, one.first.clusters or 0) for by, one in biases.items()], settings.resampling),
    ]
    caption = _("Position bias: %(question)s") % {"question": known.votes.question.title}
    return Table(f"preferences-{known.votes.question.key}-position", caption, columns, rows, notes)


def _effects(known: PreferenceVotes, settings: ReportSettings) -> Iterator[tuple[Cell, ...]]:
    """A row per group of systems that are joined by comparisons."""
    comparisons = known.ordered_comparisons
    if not comparisons.votes:
        return
    rankings = [
        rank_systems(
            comparisons, RankingSettings(intervals=by, position=True, resampling=settings.resampling)
        )
        for by in known.clusterings
    ]
    for groups in zip(*(one.groups for one in rankings), strict=True):
        name = _("Effect of being shown first (log-odds)")
        if len(rankings[0].groups) > 1:
            name = f"{name}: {', '.join(line.system for line in groups[0].systems)}"
        votes = sum(line.wins + line.losses + line.ties for line in groups[0].systems) // 2
        yield (name, *(_effect(group) for group in groups), votes)


def _effect(group: RankedGroup) -> Measured:
    figure = group.first_shown
    if figure is None:
        return Measured(None, reason=reason_sentence(group.reason, RANKING))
    return measured(figure.value, figure.interval, group.interval_reason, RANKING)


def _by_order(known: PreferenceVotes) -> Table:
    """The shares of either candidate in either order, as CMI-RewardBench prints them (Table 8)."""
    columns = (
        Column("order", _("Shown")),
        Column("votes", _("Votes"), "count"),
        Column("first", _("A preferred"), "percent", 1),
        Column("second", _("B preferred"), "percent", 1),
        Column("tie", _("Tie"), "percent", 1),
        Column("both_bad", _("Both bad"), "percent", 1),
    )
    rows: list[tuple[Cell, ...]] = []
    swapped = known.votes.shown_first == 1
    for name, here in ((_("A first"), ~swapped), (_("B first"), swapped)):
        value, n = known.votes.value[here], int(here.sum())
        shares = [float((value == choice).sum()) / n if n else None for choice in Answer.Choice]
        rows.append((name, n, *shares))
    caption = _("Votes by order: %(question)s") % {"question": known.votes.question.title}
    note = _(
        "A is the candidate that the study lists first, whoever made it. Without position bias, and with orders drawn "
        "by a coin, both rows have the same shares but for chance."
    )
    return Table(f"preferences-{known.votes.question.key}-orders", caption, columns, rows, [note])


def _balance(votes: Votes) -> Paragraph:
    """Of everything that was shown and answered, whether or not it counts: exclusions are no matter of the draw."""
    shown = votes.select((votes.shown_first != NOBODY) & ~votes.again)
    balance = order_balance(shown.units.task[shown.unit], np.asarray(shown.shown_first == 1))
    text = _(
        "Orders shown, excluded votes among them: A first %(listed)s times, B first %(swapped)s times. For %(even)s of "
        "%(pairs)s pairs of candidates the two orders were shown equally often or one of them once more; the largest "
        "difference is %(largest)s."
    )
    values = {
        "listed": f"{balance.listed:,}",
        "swapped": f"{balance.swapped:,}",
        "even": f"{balance.even_pairs:,}",
        "pairs": f"{balance.pairs:,}",
        "largest": f"{balance.largest:,}",
    }
    return Paragraph(text % values)


# Of the whole question and some of its counted votes, in the order in which they are read.
_Part = Callable[[Votes, PreferenceVotes, ReportSettings], Iterator[Block]]
# Which is better: votes that were asked for because the first ones differed would draw it towards even.
_OF_FIRST_VOTES: tuple[_Part, ...] = (ranking_blocks, variant_blocks, pair_blocks)
_OF_ALL: tuple[_Part, ...] = (position_blocks, confidence_blocks)


def preferences_section(material: ReportData) -> Section | None:
    questions = [votes for votes in material.votes if votes.question.is_preference and len(votes.counted())]
    blocks: list[Block] = []
    for votes in questions:
        pairs = PreferenceVotes(votes.counted())
        blocks.append(_introduction(pairs))
        for part in _OF_FIRST_VOTES:
            blocks += part(votes, pairs.first_votes, material.settings)
        for part in _OF_ALL:
            blocks += part(votes, pairs, material.settings)
    blocks += agreement_blocks([PreferenceVotes(votes.counted()) for votes in questions], material.settings)
    blocks += trial_blocks(material)
    return Section("preferences", _("Preferences"), blocks) if blocks else None


def _introduction(pairs: PreferenceVotes) -> Paragraph:
    n, n_ranking = len(pairs.votes), int(pairs.ranks_systems.sum())
    parts = [
        ngettext("%(question)s %(n)s vote.", "%(question)s %(n)s votes.", n)
        % {"question": pairs.votes.question.title, "n": f"{n:,}"}
    ]
    if n_ranking < n:
        text = _(
            "%(n)s compare outputs of one system, or of none that is named: they say nothing about which system is "
            "better and are part of no ranking."
        )
        parts.append(text % {"n": f"{n - n_ranking:,}"})
    if pairs.unnamed:
        text = _("%(n)s name no rater, so intervals are by prompt alone, and those by rater cannot be made.")
        parts.append(text % {"n": f"{pairs.unnamed:,}"})
    return Paragraph(join_sentences(parts))
