"""Every two scorers on the very same things: how far apart they are, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Cell, Column, Table
from analytics.reports.learned.material import duels
from analytics.reports.paper.models_cells import count_column, drawn_by_prompt, measured_with, number_column
from analytics.reports.paper.models_judged import Compared, Rated
from analytics.reports.paper.models_question import Asked
from analytics.reports.paper.models_scales import ends, from_0_to_1
from analytics.reports.paper.models_scores import Contender
from analytics.statistics import bootstrap, paired_difference
from analytics.statistics.calibration import cross_entropies
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.paired_difference import (
    Paired,
    accuracy_difference,
    mean_difference,
    rank_difference,
)
from analytics.vote_frames import NOBODY
from annotation.models import Answer

_SENTENCES = {**bootstrap.SENTENCES, **paired_difference.SENTENCES}


def preference_differences(asked: Asked, found: Compared) -> Table | None:
    rows: list[list[Cell]] = []
    clusters = found.prompt.tolist()
    for one, other in duels(asked.contenders):
        mine, theirs = (each.leads(found.first, found.second) for each in (one, other))
        accuracy = accuracy_difference(
            mine, theirs, found.lead, clusters=clusters, resampling=asked.resampling
        )
        losses = [
            cross_entropies(each.logits(lead), found.votes[:, 0], found.votes[:, 1])
            for each, lead in ((one, mine), (other, theirs))
        ]
        loss = mean_difference(losses[0], losses[1], clusters=clusters, resampling=asked.resampling)
        rows.append(
            [
                one.name, other.name, accuracy.difference.n, measured_with(accuracy.difference, _SENTENCES),
                _verdict(accuracy, one, other), measured_with(_by_rater(asked, one, other).difference, _SENTENCES),
                measured_with(loss.difference, _SENTENCES),
            ]
        )  # fmt: skip
    columns = [
        *_who(), count_column("n", _("Pairs")), Column("accuracy", _("Accuracy, difference"), "percent", 1),
        Column("verdict", _("Which is better")),
        Column("by_rater", _("Single votes, difference"), "percent", 1),
        number_column("cross_entropy", _("Cross-entropy, difference")),
    ]  # fmt: skip
    notes = [
        _(
            "Single votes: how often each votes as a person did, ties aside; raters, not prompts, are drawn anew, and "
            "with fewer than five there is no interval. Cross-entropy: less is better."
        )
    ]
    return _table(asked, columns, rows, notes)


def rating_differences(asked: Asked, found: Rated) -> Table | None:
    rows: list[list[Cell]] = []
    clusters, scale = found.prompt.tolist(), ends(asked.question)
    humans = None if scale is None else (found.mean - scale[0]) / (scale[1] - scale[0])
    for one, other in duels(asked.contenders):
        mine, theirs = one.of(found.candidate), other.of(found.candidate)
        ranks = rank_difference(mine, theirs, found.mean, clusters=clusters, resampling=asked.resampling)
        row: list[Cell] = [
            one.name, other.name, ranks.difference.n, measured_with(ranks.difference, _SENTENCES),
            _verdict(ranks, one, other), None,
        ]  # fmt: skip
        near, far = from_0_to_1(mine, scale), from_0_to_1(theirs, scale)
        if humans is not None and near is not None and far is not None:
            error = mean_difference(
                np.abs(near - humans), np.abs(far - humans), clusters=clusters, resampling=asked.resampling
            )
            row[-1] = measured_with(error.difference, _SENTENCES)
        rows.append(row)
    columns = [
        *_who(), count_column("n", _("Items")), number_column("spearman", _("Spearman, difference")),
        Column("verdict", _("Which is better")), number_column("mae", _("MAE, difference")),
    ]  # fmt: skip
    return _table(asked, columns, rows, [_("MAE: less is better.")])


def _by_rater(asked: Asked, one: Contender, other: Contender) -> Paired:
    """Over single votes of named raters for either side."""
    votes, units = asked.votes, asked.votes.units
    sided = np.isin(votes.value, [Answer.Choice.FIRST, Answer.Choice.SECOND]) & (votes.rater != NOBODY)
    said = votes.select(sided)
    human = np.where(said.value == Answer.Choice.FIRST, 1.0, -1.0)

    def leads(each: Contender) -> FloatArray:
        return each.leads(units.candidate, units.other)[said.unit]

    return accuracy_difference(
        leads(one), leads(other), human, clusters=said.rater.tolist(), resampling=asked.resampling, few=True
    )


def _verdict(found: Paired, one: Contender, other: Contender) -> str:
    if found.could_be_chance is None:
        return _("cannot be told")
    if found.could_be_chance:
        return _("the difference could be chance")
    return one.name if (found.difference.value or 0) > 0 else other.name


def _who() -> list[Column]:
    return [Column("first", _("Scorer")), Column("second", _("Less this one"))]


def _table(
    asked: Asked, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], notes: Sequence[str]
) -> Table | None:
    if not rows:
        return None
    several = _(
        "Of so many comparisons, one in twenty would be called better by chance alone; these intervals allow for one "
        "comparison at a time."
    )
    return Table(
        key=asked.key("differences"),
        caption=_("One scorer less another, on the same votes: %(question)s") % asked.named,
        columns=columns,
        rows=rows,
        notes=[drawn_by_prompt(asked.resampling), *notes, *([several] if len(rows) > 1 else [])],
    )
