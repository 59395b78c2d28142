"""Is the side that is shown first preferred for its place? The test that every report of comparisons has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Table
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.preferences_votes import PairVotes
from analytics.reports.paper.preferences_words import (
    because,
    by_cluster,
    measured,
    measured_share,
    resampled,
)
from analytics.statistics.position_bias import OrderBalance, order_balance, position_bias
from analytics.statistics.ranking import rank_systems
from analytics.statistics.ranking_results import RankedGroup, RankingSettings
from analytics.vote_frames import NOBODY, Votes
from annotation.models import Answer


def position_blocks(votes: Votes, pairs: PairVotes, settings: ReportSettings) -> Iterator[Block]:
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


def _bias(known: PairVotes, settings: ReportSettings) -> Table:
    """The share for the side shown first, and what its place is worth once the systems are taken out."""
    decided = known.select(known.decided)
    columns = [Column("measure", _("Measure"))]
    columns += [
        Column(f"value_by_{by}", by_cluster(_("Value"), by, clusterings=known.clusterings), "number", 3)
        for by in known.clusterings
    ]
    columns.append(Column("votes", _("Votes"), "count"))
    biases = {
        by: position_bias(
            decided.preferred_first, clusters=decided.clusters(by), resampling=settings.resampling
        )
        for by in known.clusterings
    }
    leading = biases[known.leading]
    n = leading.first.n
    p_value = Measured(leading.p_value, reason=because(None if n else "no_votes"))
    rows: list[tuple[Cell, ...]] = [
        (
            _("Share that prefers the side shown first"),
            *(measured_share(one.first) for one in biases.values()),
            n,
        ),
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


def _effects(known: PairVotes, settings: ReportSettings) -> Iterator[tuple[Cell, ...]]:
    """A row per group of systems that are joined by comparisons."""
    comparisons = known.ordered_comparisons
    if not comparisons.votes:
        return
    found = [
        rank_systems(
            comparisons, RankingSettings(intervals=by, position=True, resampling=settings.resampling)
        )
        for by in known.clusterings
    ]
    for groups in zip(*(one.groups for one in found), strict=True):
        name = _("Effect of being shown first (log-odds)")
        if len(found[0].groups) > 1:
            name = f"{name}: {', '.join(line.system for line in groups[0].systems)}"
        votes = sum(line.wins + line.losses + line.ties for line in groups[0].systems) // 2
        yield (name, *(_effect(group) for group in groups), votes)


def _effect(group: RankedGroup) -> Measured:
    figure = group.first_shown
    if figure is None:
        return Measured(None, reason=because(group.reason))
    return measured(figure.value, figure.interval, reason=group.interval_reason)


def _by_order(known: PairVotes) -> Table:
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
    found = order_balance(shown.units.task[shown.unit], np.asarray(shown.shown_first == 1))
    return Paragraph(_balance_text(found))


def _balance_text(found: OrderBalance) -> str:
    text = _(
        "Orders shown, excluded votes among them: A first %(listed)s times, B first %(swapped)s times. For %(even)s of "
        "%(pairs)s pairs of candidates the two orders were shown equally often or one of them once more; the largest "
        "difference is %(largest)s."
    )
    return text % {
        "listed": f"{found.listed:,}",
        "swapped": f"{found.swapped:,}",
        "even": f"{found.even_pairs:,}",
        "pairs": f"{found.pairs:,}",
        "largest": f"{found.largest:,}",
    }
