"""Scorers against ratings: over items, over systems, by part of the items, and how far off they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Table
from analytics.reports.paper.models_cells import (
    correlation_columns,
    count_column,
    drawn_by_prompt,
    measured,
    number_column,
    scorer_column,
)
from analytics.reports.paper.models_judged import Group, Rated, by_strata, present_systems
from analytics.reports.paper.models_question import Asked
from analytics.reports.paper.models_scales import ends, from_0_to_1
from analytics.reports.paper.models_scores import VARIANCE
from analytics.statistics.answer_length import TYPES, answer_types
from analytics.statistics.correlation import correlations, linear_and_rank
from analytics.statistics.human_ceiling import Ceiling, rating_ceiling
from analytics.statistics.rating_error import FEWEST_RATINGS, absolute_error, variance_error
from analytics.statistics.system_correlation import system_correlations
from analytics.text_frames import Answer

# Parts beyond this would make a table that nobody reads.
MOST_PARTS = 60


def rating_tables(asked: Asked, found: Rated, early: Rated, texts: dict[int, Answer]) -> Iterator[Block]:
    """`early`: with the first ratings only, as `Asked.first_votes` has them."""
    yield _over_items(asked, found)
    if len(np.unique(found.system)) > 1:
        yield _over_systems(asked, found)
    groups = [*by_strata(asked.votes, found.unit), *_types(found, texts), *_systems(asked, found)]
    if groups:
        yield _by_part(asked, found, groups)
    yield _ceilings(asked, early)
    yield from _variances(asked, early)


def _over_items(asked: Asked, found: Rated) -> Table:
    rows: list[list[Cell]] = []
    scale = ends(asked.question)
    humans = None if scale is None else (found.mean - scale[0]) / (scale[1] - scale[0])
    for one in asked.contenders:
        scores, clusters = one.of(found.candidate), found.prompt.tolist()
        three = correlations(scores, found.mean, clusters=clusters, resampling=asked.resampling)
        known = int(np.isfinite(scores).sum())
        row: list[Cell] = [
            one.name, known, len(found) - known,
            measured(three.lcc), measured(three.srcc), measured(three.ktau), None, None,
        ]  # fmt: skip
        if humans is not None and (near := from_0_to_1(scores, scale)) is not None:
            error = absolute_error(near, humans, clusters=clusters, resampling=asked.resampling)
            row[-2:] = [measured(error.error), error.constant]
        rows.append(row)
    return Table(
        key=asked.key("items"),
        caption=_("Scores and mean ratings, over items: %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Items")), count_column("missing", _("No score")),
            *correlation_columns(), number_column("kendall", _("Kendall (tau-b)")), number_column("mae", _("MAE")),
            number_column("constant", _("MAE of the median")),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _("An item is one candidate; its human value is the mean of its ratings, however many there are."),
            _(
                "MAE: mean absolute error with ratings brought to 0 to 1; for scores that all lie from 0 to 1, or all "
                "on the question’s scale. Others are on a scale of their own, and have none. Beside it, what always "
                "saying the median rating comes to."
            ),
        ],
    )  # fmt: skip


def _over_systems(asked: Asked, found: Rated) -> Table:
    rows: list[list[Cell]] = []
    for one in asked.contenders:
        three = system_correlations(
            one.of(found.candidate),
            found.mean,
            found.system.tolist(),
            clusters=found.prompt.tolist(),
            resampling=asked.resampling,
        )
        rows.append([one.name, three.lcc.n, measured(three.lcc), measured(three.srcc), measured(three.ktau)])
    return Table(
        key=asked.key("systems"),
        caption=_("Mean scores and mean ratings, over systems: %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("systems", _("Systems")),
            *correlation_columns(), number_column("kendall", _("Kendall (tau-b)")),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _(
                "Each system’s mean over its items, then the correlation of these means: another figure than that over "
                "items, never to be compared with it. The systems are taken as given."
            ),
        ],
    )  # fmt: skip


def _by_part(asked: Asked, found: Rated, groups: Sequence[Group]) -> Table:
    rows: list[list[Cell]] = []
    varying = asked.varying(lambda one: one.of(found.candidate))
    for group in groups:
        for one in varying:
            lcc, srcc = linear_and_rank(
                one.of(found.candidate[group.rows]),
                found.mean[group.rows],
                clusters=found.prompt[group.rows].tolist(),
                resampling=asked.resampling,
            )
            rows.append([group.by, group.name, one.name, lcc.n, measured(lcc), measured(srcc)])
    notes = [drawn_by_prompt(asked.resampling)]
    if any(group.by == _("answer") for group in groups):
        notes.append(
            _(
                "Answers as in AURA Score, table 2: yes or no, or one word, where the reference answer is that; the "
                "rest in three buckets of about equal counts by the number of words of the answer."
            )
        )
    return Table(
        key=asked.key("parts"),
        caption=_("Scores and mean ratings, by part of the items: %(question)s") % asked.named,
        columns=[
            asked.by_column(), asked.part_column(), scorer_column(), count_column("n", _("Items")),
            *correlation_columns(),
        ],
        rows=rows,
        notes=notes,
    )  # fmt: skip


def _types(found: Rated, texts: dict[int, Answer]) -> Iterator[Group]:
    own = [texts.get(candidate) for candidate in found.candidate.tolist()]
    written = [answer for answer in own if answer is not None]
    if not written:
        return
    kinds = iter(answer_types([one.reference for one in written], [one.text for one in written]))
    of_row = np.array(["" if answer is None else next(kinds) for answer in own])
    names = {
        "binary": _("yes or no"),
        "word": _("one word"),
        "short": _("short"),
        "medium": _("medium"),
        "long": _("long"),
    }
    for kind in TYPES:
        if (of_row == kind).any():
            yield Group(_("answer"), names[kind], of_row == kind)


def _systems(asked: Asked, found: Rated) -> Iterator[Group]:
    systems = present_systems(found, asked.votes)
    if 1 < len(systems) <= MOST_PARTS:
        for name, rows in systems:
            yield Group(_("system"), name, rows)


def _ceilings(asked: Asked, found: Rated) -> Table:
    rows: list[list[Cell]] = []
    for one in asked.contenders:
        both = rating_ceiling(
            found.row,
            found.value,
            one.of(found.candidate),
            clusters=found.prompt.tolist(),
            resampling=asked.resampling,
        )
        rows += [
            ceiling_row(one.name, _("Pearson"), both.lcc),
            ceiling_row(one.name, _("Spearman"), both.srcc),
        ]
    return ceiling_table(
        asked,
        rows,
        _("In turn, each rater of an item is compared with the mean of the others; so is the scorer."),
    )


def ceiling_row(name: str, statistic: str, ceiling: Ceiling) -> list[Cell]:
    return [
        name, statistic, ceiling.units, ceiling.answers,
        measured(ceiling.human), measured(ceiling.model), measured(ceiling.ratio),
    ]  # fmt: skip


def ceiling_table(asked: Asked, rows: Sequence[Sequence[Cell]], how: str) -> Table:
    return Table(
        key=asked.key("ceiling"),
        caption=_("Scorers and one person, each against the rest of the raters: %(question)s") % asked.named,
        columns=[
            scorer_column(), asked.statistic_column(), count_column("units", _("Items")),
            count_column("answers", _("Answers")), number_column("person", _("One person")),
            number_column("model", _("Scorer")), number_column("ratio", _("Scorer / person")),
        ],
        rows=rows,
        notes=[
            how,
            _(
                "Items with a score and two or more answers, each weighing the same. Above 1 a scorer foresees the "
                "others better than one person does. As the rest is fewer raters than all, figures are usually lower "
                "than those above, and not to be compared with them."
            ),
            *asked.first_votes_note(),
            drawn_by_prompt(asked.resampling),
        ],
    )  # fmt: skip


def _variances(asked: Asked, found: Rated) -> Iterator[Table]:
    scale = ends(asked.question)
    expecting = [one for scored in asked.scored if (one := scored.output(VARIANCE)) is not None]
    if scale is None or not expecting:
        return
    rows: list[list[Cell]] = []
    for one in expecting:
        error = variance_error(
            one.of(found.candidate),
            found.row,
            (found.value - scale[0]) / (scale[1] - scale[0]),
            clusters=found.prompt.tolist(),
            resampling=asked.resampling,
        )
        rows.append([one.name, error.error.n, measured(error.error), error.constant, error.floor])
    yield Table(
        key=asked.key("variance"),
        caption=_("Expected and observed variance of ratings (MAE): %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Items")), number_column("mae", _("MAE")),
            number_column("constant", _("Best constant")), number_column("floor", _("If known")),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _(
                "Against the unbiased variance of the ratings of items with %(n)s or more, on a scale from 0 to 1. “If "
                "known”: the error that chance leaves to a scorer that knows each item’s distribution, by simulation."
            )
            % {"n": FEWEST_RATINGS},
            *asked.first_votes_note(),
        ],
    )  # fmt: skip
