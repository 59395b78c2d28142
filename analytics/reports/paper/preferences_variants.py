"""The same ranking made otherwise: with the raters that were excluded, and with confidence as a margin or a weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Paragraph, Table
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.preferences_votes import PairVotes
from analytics.reports.paper.preferences_words import first_votes_note, measured, resampled
from analytics.statistics.ranking import rank_systems
from analytics.statistics.ranking_changes import RankChanges, rank_changes
from analytics.statistics.ranking_results import WALD, RankedGroup, RankedSystem, Ranking, RankingSettings
from analytics.statistics.ranking_tables import Confidence
from analytics.vote_frames import COUNTED, EXCLUDED, Votes

Lines = dict[str, tuple[RankedSystem, RankedGroup]]


def variant_blocks(votes: Votes, pairs: PairVotes, settings: ReportSettings) -> Iterator[Block]:
    if not pairs.comparisons.votes:
        return
    plain = rank_systems(pairs.comparisons, _settings(pairs, settings))
    yield from _with_excluded(votes, plain)
    if pairs.comparisons.confidence_levels:
        yield _by_confidence(pairs, plain, settings)


def _settings(pairs: PairVotes, settings: ReportSettings, *, use: Confidence = "ignore") -> RankingSettings:
    return RankingSettings(intervals=pairs.leading, confidence=use, resampling=settings.resampling)


def _with_excluded(votes: Votes, plain: Ranking) -> Iterator[Block]:
    excluded = int(((votes.status == EXCLUDED) & ~votes.again).sum())
    if not excluded:
        yield Paragraph(_("No vote was excluded, so there is no other ranking with those put back."))
        return
    back = PairVotes(votes.select(np.isin(votes.status, [COUNTED, EXCLUDED]) & ~votes.again))
    # Only the order is compared, so nothing needs resampling.
    other = rank_systems(back.first_votes.comparisons, RankingSettings(intervals=WALD))
    changes = rank_changes(plain, other)
    columns = (
        Column("system", _("System")),
        Column("rank", _("Rank"), "count"),
        Column("rank_with_excluded", _("Rank with excluded votes"), "count"),
        Column("strength", _("Strength"), "number", 2),
        Column("strength_with_excluded", _("Strength with excluded votes"), "number", 2),
    )
    rows = [(one.system, *one.ranks, *one.strengths) for one in changes.systems]
    caption = _("Ranking with and without excluded votes: %(question)s")
    notes = [_excluded_note(excluded, changes), *first_votes_note([back])]
    if not rows:
        notes.append(_("Strengths are not defined with and without them, so that ranks cannot be compared."))
    yield Table(
        f"preferences-{votes.question.key}-excluded",
        caption % {"question": votes.question.title},
        columns,
        rows,
        notes,
    )


def _excluded_note(excluded: int, changes: RankChanges) -> str:
    text = _(
        "%(excluded)s excluded votes put back; those that the review keeps out stay out. %(moved)s of %(systems)s "
        "systems change ranks; Kendall's tau-b of the two orders is %(tau)s."
    )
    return text % {
        "excluded": f"{excluded:,}",
        "moved": f"{len(changes.moved):,}",
        "systems": f"{len(changes.systems):,}",
        "tau": "–" if changes.tau is None else f"{changes.tau:.2f}".replace("-", "−"),
    }


def _by_confidence(pairs: PairVotes, plain: Ranking, settings: ReportSettings) -> Table:
    uses: list[Confidence] = ["margin"]
    if pairs.comparisons.confidence_levels[0] > 0:  # else the least sure would weigh nothing, or less
        uses.append("weight")
    found = [plain, *(rank_systems(pairs.comparisons, _settings(pairs, settings, use=use)) for use in uses)]
    names = [_("plain"), _("margin"), _("weight")]
    columns = [Column("system", _("System"))]
    columns += [
        Column(f"strength_{use}", _("Strength, %(use)s") % {"use": name}, "number", 2)
        for use, name in zip(["plain", *uses], names, strict=False)
    ]
    columns += [
        Column(f"rank_{use}", _("Rank, %(use)s") % {"use": name}, "count")
        for use, name in zip(["plain", *uses], names, strict=False)
    ]
    lines = [_lines(one) for one in found]
    rows: list[tuple[Cell, ...]] = [
        (name, *(_strength(one.get(name)) for one in lines), *(_rank(one.get(name)) for one in lines))
        for name in lines[0]
    ]
    caption = _("Confidence in the ranking: %(question)s") % {"question": pairs.votes.question.title}
    notes = list(_confidence_notes(pairs, found, settings))
    return Table(f"preferences-{pairs.votes.question.key}-by-confidence", caption, columns, rows, notes)


def _confidence_notes(pairs: PairVotes, found: Sequence[Ranking], settings: ReportSettings) -> Iterator[str]:
    yield _(
        "Margin: confidence says by how much the preferred one is ahead, in ordered steps (cumulative logits, Agresti "
        "1992); its strengths are on another scale than the plain ones. Weight: each vote counts confidence / %(most)s."
    ) % {"most": f"{pairs.comparisons.confidence_levels[-1]:g}"}
    thresholds = found[1].groups[0].thresholds
    if thresholds:
        listed = ", ".join(f"{figure.value:.2f}".replace("-", "−") for figure in thresholds)
        yield _("Thresholds between the steps: %(thresholds)s.") % {"thresholds": listed}
    if found[1].without_confidence:
        text = _("%(n)s votes without a confidence are part of the plain ranking only.")
        yield text % {"n": f"{found[1].without_confidence:,}"}
    yield resampled([(pairs.leading, found[0].clusters)], settings.resampling)
    yield from first_votes_note([pairs])


def _lines(ranking: Ranking) -> Lines:
    return {line.system: (line, group) for group in ranking.groups for line in group.systems}


def _strength(found: tuple[RankedSystem, RankedGroup] | None) -> Cell:
    if found is None:
        return None
    line, group = found
    return measured(line.strength, line.interval, reason=group.reason or group.interval_reason)


def _rank(found: tuple[RankedSystem, RankedGroup] | None) -> Cell:
    if found is None:
        return None
    line, group = found
    return measured(line.rank, line.rank_interval, reason=group.reason or group.interval_reason)
