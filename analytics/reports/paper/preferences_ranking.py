"""Rankings of systems: strengths and win rates with their intervals, and what stands in the way of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.utils.translation import gettext as _

from analytics.figures.interval_plot import Block as PlotBlock
from analytics.figures.interval_plot import Point, interval_plot
from analytics.reports.document import Block, Cell, Column, Figure, Kind, Paragraph, Table
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.preferences_votes import PairVotes
from analytics.reports.paper.preferences_words import (
    because,
    by_cluster,
    first_votes_note,
    measured,
    n_clusters,
    resampled,
)
from analytics.statistics.ranking import rank_systems
from analytics.statistics.ranking_results import RankedGroup, RankedSystem, Ranking, RankingSettings
from analytics.statistics.ranking_win_rates import pairs as pairs_of
from analytics.vote_frames import Votes

# A normal prior on strengths with a standard deviation of 3.2 log-odds: weak, but enough to bound what never lost.
RIDGE = 0.1

# By what was resampled; the first leads.
Rankings = Mapping[str, Ranking]


def ranking_blocks(votes: Votes, pairs: PairVotes, settings: ReportSettings) -> Iterator[Block]:
    question = votes.question
    if not pairs.comparisons.votes:
        yield Paragraph(
            _("No vote compares two different systems, so there is nothing to rank."), warning=True
        )
        return
    plain = _rankings(pairs, settings)
    yield from _warnings(plain[pairs.leading], pairs)
    ridged = "separated" in {group.reason for group in plain[pairs.leading].groups}
    found = _rankings(pairs, settings, ridge=RIDGE) if ridged else plain
    caption = _("Systems ranked: %(question)s") % {"question": question.title}
    said = first_votes_note([pairs])
    notes = [*_notes(found, settings), *said]
    yield _strengths(f"preferences-{question.key}-ranking", caption, found, notes)
    yield _figure(f"preferences-{question.key}-strengths", caption, found, settings)
    yield _win_rates(votes, plain, settings, said)
    if parameters := _parameters(votes, found, said):
        yield parameters


def _rankings(pairs: PairVotes, settings: ReportSettings, *, ridge: float = 0.0) -> Rankings:
    return {
        by: rank_systems(
            pairs.comparisons, RankingSettings(intervals=by, ridge=ridge, resampling=settings.resampling)
        )
        for by in pairs.clusterings
    }


def _warnings(ranking: Ranking, pairs: PairVotes) -> Iterator[Paragraph]:
    n = len(pairs.comparisons.systems)
    compared, possible = len(pairs_of(pairs.comparisons)), n * (n - 1) // 2
    if compared < possible:
        text = _(
            "%(compared)s of the %(possible)s pairs of systems were compared directly; the others are ranked by way "
            "of systems that both were compared with."
        )
        yield Paragraph(text % {"compared": f"{compared:,}", "possible": f"{possible:,}"})
    if len(ranking.groups) > 1:
        listed = "; ".join(_names(line.system for line in group.systems) for group in ranking.groups)
        text = _(
            "Comparisons do not join all systems: strengths and ranks hold within each group alone. Groups: %(groups)s."
        )
        yield Paragraph(text % {"groups": listed}, warning=True)
    for group in ranking.groups:
        if group.reason == "separated":
            yield Paragraph(_separated(group), warning=True)
        elif group.reason not in (None, "no_comparisons"):
            yield Paragraph(because(group.reason) or "", warning=True)


def _separated(group: RankedGroup) -> str:
    text = _(
        "None of these groups of systems ever lost to a later one, so nothing bounds how much better it is and maximum "
        "likelihood gives no strengths: %(blocks)s. The strengths below are drawn towards 0 by a ridge of %(ridge)s "
        "(half of it times the sum of squared strengths is taken off the log-likelihood); how far apart the groups "
        "are, and where few votes join them even their order, depends on it."
    )
    listed = " › ".join(_names(block) for block in group.blocks)
    return text % {"blocks": listed, "ridge": f"{RIDGE:g}"}


def _names(systems: Iterator[str] | tuple[str, ...]) -> str:
    return ", ".join(systems)


def _strengths(key: str, caption: str, found: Rankings, notes: list[str]) -> Table:
    clusterings = list(found)
    grouped = len(next(iter(found.values())).groups) > 1
    columns = [Column("group", _("Group"), "count")] if grouped else []
    columns.append(Column("system", _("System")))
    measures: tuple[tuple[str, str, Kind, int], ...] = (
        ("strength", _("Strength"), "number", 2),
        ("rank", _("Rank"), "count", 0),
    )
    for key_, label, kind, digits in measures:
        columns += [
            Column(f"{key_}_by_{by}", by_cluster(label, by, clusterings=clusterings), kind, digits)
            for by in clusterings
        ]
    rows: list[tuple[Cell, ...]] = []
    for number, groups in enumerate(zip(*(one.groups for one in found.values()), strict=True), start=1):
        for lines in zip(*(group.systems for group in groups), strict=True):
            strengths = [
                measured(line.strength, line.interval, reason=group.reason or group.interval_reason)
                for line, group in zip(lines, groups, strict=True)
            ]
            ranks = [
                measured(line.rank, line.rank_interval, reason=group.reason or group.interval_reason)
                for line, group in zip(lines, groups, strict=True)
            ]
            rows.append((*([number] if grouped else []), lines[0].system, *strengths, *ranks))
    return Table(key, caption, columns, rows, notes)


def _notes(found: Rankings, settings: ReportSettings) -> Iterator[str]:
    yield _(
        "Strengths are log-odds against the mean of the systems (Bradley and Terry; ties after Davidson): of votes "
        "that prefer one of two systems, the share for the first is 1 / (1 + exp(−difference)). Both bad says nothing "
        "about which is better and is no part of them."
    )
    counts = [(by, ranking.clusters) for by, ranking in found.items()]
    yield resampled(counts, settings.resampling)
    yield _("Intervals of ranks hold the ranks that the systems had in these resamples, all ranked together.")
    for by, ranking in found.items():
        lost = sum(group.degenerate for group in ranking.groups)
        if lost:
            text = _(
                "In %(lost)s of %(times)s resamples of %(clusters)s the likelihood of the strengths had no maximum, "
                "since some systems never lost to the others or were not joined to them; the intervals rest on the "
                "others."
            )
            yield (
                text
                % {
                    "lost": f"{lost:,}",
                    "times": f"{settings.resampling.replicates:,}",
                    "clusters": n_clusters(by, ranking.clusters),
                }
            )


def _figure(key: str, caption: str, found: Rankings, settings: ReportSettings) -> Figure:
    leading = next(iter(found.values()))
    several = len(leading.groups) > 1
    blocks = [
        PlotBlock(
            _("Group %(number)s") % {"number": number} if several else _("Strength"),
            [_point(line) for line in group.systems],
        )
        for number, group in enumerate(leading.groups, start=1)
    ]
    return Figure(key, caption, interval_plot(caption, blocks, on_its_own=False))


def _point(line: RankedSystem) -> Point:
    low, high = line.interval or (None, None)
    shown = "–" if line.strength is None else f"{line.strength:+.2f}".replace("-", "−")
    return Point(line.system, line.strength, low, high, shown)


def _win_rates(votes: Votes, found: Rankings, settings: ReportSettings, said: list[str]) -> Table:
    clusterings = list(found)
    columns = [
        Column("system", _("System")),
        *(
            Column(f"win_rate_by_{by}", by_cluster(_("Win rate"), by, clusterings=clusterings), "percent", 1)
            for by in clusterings
        ),
        Column("wins", _("Wins"), "count"),
        Column("losses", _("Losses"), "count"),
        Column("ties", _("Ties"), "count"),
        Column("both_bad", _("Both bad"), "count"),
    ]
    lines = {
        by: {line.system: line for group in one.groups for line in group.systems} for by, one in found.items()
    }
    leading = lines[clusterings[0]]
    order = sorted(leading, key=lambda name: (-_sortable(leading[name].win_rate), name))
    rows: list[tuple[Cell, ...]] = []
    for name in order:
        rates = [_rate(lines[by][name], clusters=found[by].clusters) for by in clusterings]
        one = leading[name]
        rows.append((name, *rates, one.wins, one.losses, one.ties, one.both_bad))
    note = _(
        "(Wins + ties / 2) / (wins + losses + ties), whoever the opponents were. Both bad is part of no win rate."
    )
    counts = [(by, ranking.clusters) for by, ranking in found.items()]
    caption = _("Win rates: %(question)s") % {"question": votes.question.title}
    key = f"preferences-{votes.question.key}-wins"
    return Table(key, caption, columns, rows, [note, resampled(counts, settings.resampling), *said])


def _sortable(rate: float | None) -> float:
    return -1.0 if rate is None else rate


def _rate(line: RankedSystem, *, clusters: int) -> Cell:
    interval, reason = line.win_rate_interval, "one_cluster" if clusters < 2 else "few_clusters"
    if line.win_rate is None:
        reason = "no_comparisons"
    elif interval is not None and interval[0] == interval[1]:
        interval, reason = None, "all_alike"
    return measured(line.win_rate, interval, reason=reason)


def _parameters(votes: Votes, found: Rankings, said: list[str]) -> Table | None:
    """Davidson's tie parameter of every group that has ties."""
    clusterings = list(found)
    columns = [Column("parameter", _("Parameter"))]
    columns += [
        Column(f"value_by_{by}", by_cluster(_("Value"), by, clusterings=clusterings), "number", 3)
        for by in clusterings
    ]
    rows: list[tuple[Cell, ...]] = []
    for groups in zip(*(one.groups for one in found.values()), strict=True):
        figures = [group.nu for group in groups]
        if figures[0] is not None:
            name = "ν" if len(next(iter(found.values())).groups) == 1 else "ν: " + groups[0].systems[0].system
            cells = [
                measured(one.value, one.interval, reason=group.interval_reason)
                for one, group in zip(figures, groups, strict=True)
                if one is not None
            ]
            rows.append((name, *cells))
    if not rows:
        return None
    note = _("The chance of a tie between two equal systems is ν / (2 + ν) (Davidson 1970).")
    caption = _("Ties: %(question)s") % {"question": votes.question.title}
    return Table(f"preferences-{votes.question.key}-ties", caption, columns, rows, [note, *said])
