"""Rankings: the mean place of each system, how often one is placed above another, and Kendall's W."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.votes import Votes
from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Section, Table
from analytics.reports.reasons import RANKING, SCORES, measured
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.statistics.agreement.concordance import concordances
from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import mean_estimate
from analytics.statistics.ranking.comparisons import FIRST, Comparisons, count_comparisons
from analytics.statistics.ranking.ranking import RankingSettings, rank_systems


def rankings_section(material: ReportData) -> Section | None:
    ranked = [votes.counted() for votes in material.votes if votes.question.is_ranking]
    blocks = [block for votes in ranked if len(votes) for block in _question_blocks(votes, material.settings)]
    return Section("rankings", _("Rankings"), blocks) if blocks else None


def _question_blocks(votes: Votes, settings: ReportSettings) -> Iterator[Block]:
    yield _places(votes, settings)
    yield _concordance(votes, settings)
    pairs = compared_places(votes)
    if pairs.votes:
        yield _strengths(votes, pairs, settings)
    else:
        text = _("%(question)s: no two different systems were ranked together.")
        yield Paragraph(text % {"question": votes.question.title}, warning=True)


def _places(votes: Votes, settings: ReportSettings) -> Table:
    system, prompt = votes.units.first[votes.unit], votes.units.prompt[votes.unit]
    rows: list[list[Cell]] = []
    for number in np.unique(system[system >= 0]).tolist():
        of = system == number
        place = votes.value[of]
        mean = _mean(place, prompt[of], settings)
        rows.append(
            [votes.systems[number], mean, float((place == 1).mean()), float(np.median(place)), int(of.sum())]
        )
    rows.sort(
        key=lambda row: row[1].value if isinstance(row[1], Measured) and row[1].value is not None else 0.0
    )
    columns = (
        Column("system", _("System")),
        Column("mean_place", _("Mean place"), "number", 2),
        Column("first", _("Placed first"), "percent", 1),
        Column("median", _("Median place"), "number", 1),
        Column("rankings", _("Rankings"), "count"),
    )
    caption = _("Places of the systems, the best first: %(question)s") % {"question": votes.question.title}
    return Table(f"rankings-{votes.question.key}-places", caption, columns, rows, [_interval_note(settings)])


def _mean(values: FloatArray, prompt: IntArray, settings: ReportSettings) -> Measured:
    clusters = np.unique(prompt, return_inverse=True)[1]
    figure = mean_estimate(values, clusters, resampling=settings.resampling)
    return measured(figure.value, figure.interval, figure.reason, SCORES)


def _interval_note(settings: ReportSettings) -> str:
    text = _("%(level)s intervals from resampled prompts, each with all its answers.")
    return text % {"level": f"{100 * settings.resampling.level:g} %"}


def _concordance(votes: Votes, settings: ReportSettings) -> Table:
    task = votes.units.task[votes.unit]
    w_by_task = concordances(task, votes.judgment, votes.units.candidate[votes.unit], votes.value)
    prompts = dict(zip(task.tolist(), votes.units.prompt[votes.unit].tolist(), strict=True))
    mean = _mean(
        np.array([w for _task, w in w_by_task]),
        np.array([prompts[one] for one, _w in w_by_task], dtype=np.int64),
        settings,
    )
    columns = (
        Column("tasks", _("Tasks with two rankings or more"), "count"),
        Column("w", _("Mean of Kendall’s W"), "number", 3),
    )
    caption = _("How far raters rank alike: %(question)s") % {"question": votes.question.title}
    notes = [_("Kendall’s W of each task: 1 where all rank alike, 0 where the sums of places are equal. Of two "
               "rankings that have nothing in common it is about one half.")]  # fmt: skip
    return Table(
        f"rankings-{votes.question.key}-concordance", caption, columns, [[len(w_by_task), mean]], notes
    )


def compared_places(votes: Votes) -> Comparisons:
    """Each ranking as votes on all pairs of different systems in it."""
    system = votes.units.first[votes.unit]
    order = np.lexsort([votes.value, votes.judgment])
    judgment = votes.judgment[order]
    one, other = (np.array([], dtype=np.int64) for _ in range(2))
    # Rows of one judgment follow each other, the best first: a row and the one `step` later, where it is the same.
    for step in range(1, int(np.bincount(np.unique(judgment, return_inverse=True)[1]).max(initial=0))):
        same = np.flatnonzero(judgment[:-step] == judgment[step:])
        one, other = np.append(one, order[same]), np.append(other, order[same + step])
    differ = (system[one] != system[other]) & (system[one] >= 0) & (system[other] >= 0)
    one, other = one[differ], other[differ]
    return count_comparisons(
        votes.systems,
        system[one],
        system[other],
        np.full(len(one), FIRST),
        clusters={"prompt": votes.units.prompt[votes.unit[one]]},
    )


def _strengths(votes: Votes, pairs: Comparisons, settings: ReportSettings) -> Table:
    ranking = rank_systems(pairs, RankingSettings(intervals="prompt", resampling=settings.resampling))
    rows: list[list[Cell]] = []
    for group in ranking.groups:
        why = group.reason or group.interval_reason
        for line in group.systems:
            if line.wins + line.losses == 0:
                continue
            strength = measured(line.strength, line.interval, why, RANKING)
            rate = measured(line.win_rate, line.win_rate_interval, why, RANKING)
            rows.append([line.system, rate, line.wins, line.losses, strength])
    columns = (
        Column("system", _("System")),
        Column("above", _("Placed above others"), "percent", 1),
        Column("wins", _("Above"), "count"),
        Column("losses", _("Below"), "count"),
        Column("strength", _("Strength"), "number", 2),
    )
    caption = _("Pairs of systems within rankings: %(question)s") % {"question": votes.question.title}
    notes = [_("Each ranking is a vote on all its pairs. Strengths are those of Bradley and Terry, in log-odds "
               "against the mean of the systems."), _interval_note(settings)]  # fmt: skip
    return Table(f"rankings-{votes.question.key}-pairs", caption, columns, rows, notes)
