"""Rankings of systems: strengths and win rates with their intervals, and what stands in the way of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from analytics.data.votes import Votes
from analytics.reports.document import Block, Cell, Column, Figure, Paragraph, Table
from analytics.reports.reasons import RANKING, measured, reason_sentence
from analytics.reports.render.interval_plot import Block as PlotBlock
from analytics.reports.render.interval_plot import Point, interval_plot
from analytics.reports.sections.material import PutBack, ReportSettings, put_back
from analytics.reports.sections.preference_votes import (
    PreferenceVotes,
    cluster_columns,
    first_votes_note,
    n_clusters,
    resampled,
)
from analytics.statistics.ranking.comparisons import count_pairs as pairs_of
from analytics.statistics.ranking.count_tables import ConfidenceUse
from analytics.statistics.ranking.ranking import (
    WALD,
    RankChanges,
    RankedGroup,
    RankedSystem,
    Ranking,
    RankingSettings,
    rank_changes,
    rank_systems,
)

# A normal prior on strengths with a standard deviation of 3.2 log-odds: weak, but enough to bound what never lost.
RIDGE = 0.1

# By what was resampled; the first leads.
Rankings = Mapping[str, Ranking]
RankedLine = tuple[RankedSystem, RankedGroup]


def ranking_blocks(votes: Votes, pairs: PreferenceVotes, settings: ReportSettings) -> Iterator[Block]:
    question = votes.question
    if not pairs.comparisons.votes:
        text = _("No vote compares two different systems, so there is nothing to rank.")
        yield Paragraph(text, warning=True)
        return
    plain = _rankings(pairs, settings)
    yield from _warnings(plain[pairs.leading], pairs)
    ridged = "separated" in {group.reason for group in plain[pairs.leading].groups}
    rankings = _rankings(pairs, settings, ridge=RIDGE) if ridged else plain
    caption = _("Systems ranked: %(question)s") % {"question": question.title}
    first_votes = first_votes_note([pairs])
    notes = [*_notes(rankings, settings), *first_votes]
    yield _strengths(f"preferences-{question.key}-ranking", caption, rankings, notes)
    yield _figure(f"preferences-{question.key}-strengths", caption, rankings[pairs.leading])
    yield _win_rates(votes, plain, settings, first_votes)
    yield from _parameters(votes, rankings, first_votes)


def _rankings(pairs: PreferenceVotes, settings: ReportSettings, *, ridge: float = 0.0) -> Rankings:
    return {
        by: rank_systems(
            pairs.comparisons, RankingSettings(intervals=by, ridge=ridge, resampling=settings.resampling)
        )
        for by in pairs.clusterings
    }


def _warnings(ranking: Ranking, pairs: PreferenceVotes) -> Iterator[Paragraph]:
    n = len(pairs.comparisons.systems)
    compared, possible = len(pairs_of(pairs.comparisons)), n * (n - 1) // 2
    if compared < possible:
        text = _(
            "%(compared)s of the %(possible)s pairs of systems were compared directly; the others are ranked by way "
            "of systems that both were compared with."
        )
        yield Paragraph(text % {"compared": f"{compared:,}", "possible": f"{possible:,}"})
    if len(ranking.groups) > 1:
        listed = "; ".join(", ".join(line.system for line in group.systems) for group in ranking.groups)
        text = _(
            "Comparisons do not join all systems: strengths and ranks hold within each group alone. Groups: %(groups)s."
        )
        yield Paragraph(text % {"groups": listed}, warning=True)
    for group in ranking.groups:
        if group.reason == "separated":
            yield Paragraph(_separated(group), warning=True)
        elif group.reason not in (None, "no_comparisons"):
            yield Paragraph(reason_sentence(group.reason, RANKING) or "", warning=True)


def _separated(group: RankedGroup) -> str:
    text = _(
        "None of these groups of systems ever lost to a later one, so nothing bounds how much better it is and maximum "
        "likelihood gives no strengths: %(blocks)s. The strengths below are drawn towards 0 by a ridge of %(ridge)s "
        "(half of it times the sum of squared strengths is taken off the log-likelihood); how far apart the groups "
        "are, and where few votes join them even their order, depends on it."
    )
    listed = " › ".join(map(", ".join, group.blocks))
    return text % {"blocks": listed, "ridge": f"{RIDGE:g}"}


def _strengths(key: str, caption: str, rankings: Rankings, notes: list[str]) -> Table:
    grouped = len(next(iter(rankings.values())).groups) > 1
    columns = [
        *([Column("group", _("Group"), "count")] if grouped else []),
        Column("system", _("System")),
        *cluster_columns("strength", _("Strength"), rankings, "number", 2),
        *cluster_columns("rank", _("Rank"), rankings, "count", 0),
    ]
    rows: list[tuple[Cell, ...]] = []
    for number, groups in enumerate(zip(*(one.groups for one in rankings.values()), strict=True), start=1):
        for lines in zip(*(group.systems for group in groups), strict=True):
            ranked = list(zip(lines, groups, strict=True))
            cells = (*map(_strength, ranked), *map(_rank, ranked))
            rows.append((*([number] if grouped else []), lines[0].system, *cells))
    return Table(key, caption, columns, rows, notes)


def _strength(ranked: RankedLine | None) -> Cell:
    if ranked is None:
        return None
    line, group = ranked
    return measured(line.strength, line.interval, group.reason or group.interval_reason, RANKING)


def _rank(ranked: RankedLine | None) -> Cell:
    if ranked is None:
        return None
    line, group = ranked
    return measured(line.rank, line.rank_interval, group.reason or group.interval_reason, RANKING)


def _notes(rankings: Rankings, settings: ReportSettings) -> Iterator[str]:
    yield _(
        "Strengths are log-odds against the mean of the systems (Bradley and Terry; ties after Davidson): of votes "
        "that prefer one of two systems, the share for the first is 1 / (1 + exp(−difference)). Both bad says nothing "
        "about which is better and is no part of them."
    )
    counts = [(by, ranking.clusters) for by, ranking in rankings.items()]
    yield resampled(counts, settings.resampling)
    yield _("Intervals of ranks hold the ranks that the systems had in these resamples, all ranked together.")
    for by, ranking in rankings.items():
        if lost := sum(group.degenerate for group in ranking.groups):
            text = _(
                "In %(lost)s of %(times)s resamples of %(clusters)s the likelihood of the strengths had no maximum, "
                "since some systems never lost to the others or were not joined to them; the intervals rest on the "
                "others."
            )
            times, clusters = f"{settings.resampling.replicates:,}", n_clusters(by, ranking.clusters)
            yield text % {"lost": f"{lost:,}", "times": times, "clusters": clusters}


def _figure(key: str, caption: str, ranking: Ranking) -> Figure:
    heading = _("Group %(number)s") if len(ranking.groups) > 1 else _("Strength")
    blocks = [
        PlotBlock(heading % {"number": number}, [_point(line) for line in group.systems])
        for number, group in enumerate(ranking.groups, start=1)
    ]
    return Figure(key, caption, interval_plot(caption, blocks))


def _point(line: RankedSystem) -> Point:
    low, high = line.interval or (None, None)
    shown = "–" if line.strength is None else f"{line.strength:+.2f}".replace("-", "−")
    return Point(line.system, line.strength, low, high, shown)


def _win_rates(votes: Votes, rankings: Rankings, settings: ReportSettings, notes: list[str]) -> Table:
    columns = [
        Column("system", _("System")),
        *cluster_columns("win_rate", _("Win rate"), rankings, "percent", 1),
        Column("wins", _("Wins"), "count"),
        Column("losses", _("Losses"), "count"),
        Column("ties", _("Ties"), "count"),
        Column("both_bad", _("Both bad"), "count"),
    ]
    lines = [(_lines(ranking), ranking.clusters) for ranking in rankings.values()]
    rows: list[tuple[Cell, ...]] = []
    for one, _group in sorted(lines[0][0].values(), key=lambda ranked: _by_win_rate(ranked[0])):
        rates = [_rate(of_system[one.system][0], clusters=clusters) for of_system, clusters in lines]
        rows.append((one.system, *rates, one.wins, one.losses, one.ties, one.both_bad))
    note = _(
        "(Wins + ties / 2) / (wins + losses + ties), whoever the opponents were. Both bad is part of no win rate."
    )
    counts = [(by, ranking.clusters) for by, ranking in rankings.items()]
    caption = _("Win rates: %(question)s") % {"question": votes.question.title}
    key = f"preferences-{votes.question.key}-wins"
    return Table(key, caption, columns, rows, [note, resampled(counts, settings.resampling), *notes])


def _by_win_rate(line: RankedSystem) -> tuple[float, str]:
    """The highest first; those without one last."""
    return 1.0 if line.win_rate is None else -line.win_rate, line.system


def _rate(line: RankedSystem, *, clusters: int) -> Cell:
    interval, reason = line.win_rate_interval, "one_cluster" if clusters < 2 else "few_clusters"
    if line.win_rate is None:
        reason = "no_comparisons"
    elif interval is not None and interval[0] == interval[1]:
        interval, reason = None, "all_alike"
    return measured(line.win_rate, interval, reason, RANKING)


def _parameters(votes: Votes, rankings: Rankings, notes: list[str]) -> Iterator[Table]:
    """Davidson's tie parameter of every group that has ties."""
    columns = [
        Column("parameter", _("Parameter")),
        *cluster_columns("value", _("Value"), rankings, "number", 3),
    ]
    rows: list[tuple[Cell, ...]] = []
    by_group = list(zip(*(one.groups for one in rankings.values()), strict=True))
    for groups in by_group:
        figures = [group.nu for group in groups]
        if figures[0] is not None:
            name = "ν" if len(by_group) == 1 else "ν: " + groups[0].systems[0].system
            cells = [
                measured(one.value, one.interval, group.interval_reason, RANKING)
                for one, group in zip(figures, groups, strict=True)
                if one is not None
            ]
            rows.append((name, *cells))
    if rows:
        note = _("The chance of a tie between two equal systems is ν / (2 + ν) (Davidson 1970).")
        caption = _("Ties: %(question)s") % {"question": votes.question.title}
        yield Table(f"preferences-{votes.question.key}-ties", caption, columns, rows, [note, *notes])


def variant_blocks(votes: Votes, pairs: PreferenceVotes, settings: ReportSettings) -> Iterator[Block]:
    if not pairs.comparisons.votes:
        return
    plain = rank_systems(pairs.comparisons, _settings(pairs, settings))
    yield from _with_excluded(votes, plain)
    if pairs.comparisons.confidence_levels:
        yield _by_confidence(pairs, plain, settings)


def _settings(
    pairs: PreferenceVotes, settings: ReportSettings, *, use: ConfidenceUse = "ignore"
) -> RankingSettings:
    return RankingSettings(intervals=pairs.leading, confidence=use, resampling=settings.resampling)


def _with_excluded(votes: Votes, plain: Ranking) -> Iterator[Block]:
    backs = put_back(votes)
    if not backs:
        yield Paragraph(_("No vote was excluded, so there is no other ranking with those put back."))
    for back in backs:
        yield _put_back_table(votes, plain, back)


def _put_back_table(votes: Votes, plain: Ranking, back: PutBack) -> Table:
    pairs = PreferenceVotes(back.votes)
    # Only the order and the shares are compared, so nothing needs resampling.
    other = rank_systems(pairs.first_votes.comparisons, RankingSettings(intervals=WALD))
    changes = rank_changes(plain, other)
    columns = (
        Column("system", _("System")),
        Column("rank", _("Rank"), "count"),
        Column("rank_with_excluded", _("Rank with excluded votes"), "count"),
        Column("strength", _("Strength"), "number", 2),
        Column("strength_with_excluded", _("Strength with excluded votes"), "number", 2),
        Column("win_rate", _("Win rate"), "percent", 1),
        Column("win_rate_with_excluded", _("Win rate with excluded votes"), "percent", 1),
    )
    rates = [{name: line.win_rate for name, (line, _group) in _lines(one).items()} for one in (plain, other)]
    moved = {one.system: (*one.ranks, *one.strengths) for one in changes.systems}
    names = [*moved, *(name for name in rates[0] if name not in moved)]
    rows = [(name, *moved.get(name, (None,) * 4), *(of.get(name) for of in rates)) for name in names]
    caption = _("Ranking %(how)s: %(question)s") % {"how": back.label, "question": votes.question.title}
    notes = [_excluded_note(back.n, changes), *first_votes_note([pairs])]
    if not moved:
        notes.append(_("Strengths are not defined with and without them, so that ranks cannot be compared."))
    return Table(f"preferences-{votes.question.key}-{back.key}", caption, columns, rows, notes)


def _excluded_note(n: int, changes: RankChanges) -> str:
    text = _(
        "%(excluded)s excluded votes put back; those that the review keeps out stay out. %(moved)s of %(systems)s "
        "systems change ranks; Kendall's tau-b of the two orders is %(tau)s."
    )
    return text % {
        "excluded": f"{n:,}",
        "moved": f"{len(changes.moved):,}",
        "systems": f"{len(changes.systems):,}",
        "tau": "–" if changes.tau is None else f"{changes.tau:.2f}".replace("-", "−"),
    }


def _by_confidence(pairs: PreferenceVotes, plain: Ranking, settings: ReportSettings) -> Table:
    uses: list[ConfidenceUse] = ["margin"]
    if pairs.comparisons.confidence_levels[0] > 0:  # else the least sure would weigh nothing, or less
        uses.append("weight")
    rankings = [
        plain,
        *(rank_systems(pairs.comparisons, _settings(pairs, settings, use=use)) for use in uses),
    ]
    names = list(zip(["plain", *uses], [_("plain"), _("margin"), _("weight")], strict=False))
    columns = [
        Column("system", _("System")),
        *(
            Column(f"strength_{use}", _("Strength, %(use)s") % {"use": name}, "number", 2)
            for use, name in names
        ),
        *(Column(f"rank_{use}", _("Rank, %(use)s") % {"use": name}, "count") for use, name in names),
    ]
    lines = [_lines(one) for one in rankings]
    rows: list[tuple[Cell, ...]] = [
        (name, *(_strength(one.get(name)) for one in lines), *(_rank(one.get(name)) for one in lines))
        for name in lines[0]
    ]
    caption = _("Confidence in the ranking: %(question)s") % {"question": pairs.votes.question.title}
    notes = list(_confidence_notes(pairs, rankings, settings))
    return Table(f"preferences-{pairs.votes.question.key}-by-confidence", caption, columns, rows, notes)


def _confidence_notes(
    pairs: PreferenceVotes, rankings: Sequence[Ranking], settings: ReportSettings
) -> Iterator[str]:
    yield _(
        "Margin: confidence says by how much the preferred one is ahead, in ordered steps (cumulative logits, Agresti "
        "1992); its strengths are on another scale than the plain ones. Weight: each vote counts confidence / %(most)s."
    ) % {"most": f"{pairs.comparisons.confidence_levels[-1]:g}"}
    thresholds = rankings[1].groups[0].thresholds
    if thresholds:
        listed = ", ".join(f"{figure.value:.2f}".replace("-", "−") for figure in thresholds)
        yield _("Thresholds between the steps: %(thresholds)s.") % {"thresholds": listed}
    if rankings[1].without_confidence:
        text = _("%(n)s votes without a confidence are part of the plain ranking only.")
        yield text % {"n": f"{rankings[1].without_confidence:,}"}
    yield resampled([(pairs.leading, rankings[0].clusters)], settings.resampling)
    yield from first_votes_note([pairs])


def _lines(ranking: Ranking) -> dict[str, RankedLine]:
    return {line.system: (line, group) for group in ranking.groups for line in group.systems}
