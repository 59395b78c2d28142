"""Ratings: systems by mean and distribution, with raters' severity taken out, and what raters disagree about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Section, Table
from analytics.reports.sections.material import ReportData
from analytics.reports.sections.rating_data import QuestionRatings, distribution_blocks, load_ratings
from analytics.reports.sections.rating_severity import normalised_blocks, same_systems, severities_of
from analytics.reports.sections.rating_systems import by_mean, excluded_blocks, mushra_blocks, system_blocks
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.arrays import IntArray
from analytics.statistics.ratings.contested import (
    NO_PAIRABLE,
    NO_VARIATION,
    ContestedUnits,
    contested_units,
    noise_reference,
    variance_counts,
)

MOST_LISTED = 20


def disagreement_blocks(rated: QuestionRatings, order: Sequence[int]) -> Iterator[Block]:
    width = rated.question.width
    if width is None:
        text = _("%(question)s: the scale has no ends, so nothing says which variance would be large.")
        yield Paragraph(text % rated.title_params)
        return
    # A quarter of the scale squared: 1 on a scale from 1 to 5; then half of the largest variance there can be.
    thresholds = ((width / 4) ** 2, width**2 / 8)
    yield _readings(rated, thresholds[0])
    yield from _noise(rated, thresholds)
    contested = _contested(rated, thresholds[0])
    if contested.pairable.any():
        yield _shares(rated, contested, order, thresholds[0])
        yield from _listed(rated, contested)


def _readings(rated: QuestionRatings, threshold: float) -> Table:
    counts = variance_counts(patterns_from_long(rated.ratings.unit, rated.ratings.value), threshold=threshold)
    columns = (
        Column("variance", _("Variance")),
        Column("units", _("Outputs"), "count"),
        Column("of_pairable", _("of those with two ratings or more"), "percent", 1),
        Column("of_all", _("of all"), "percent", 1),
    )
    above, reaching = _("above %(threshold)s"), _("%(threshold)s or more")
    rows: list[list[Cell]] = []
    for divided, how, n in (
        (_("divided by n"), above, counts.population_above),
        (_("divided by n"), reaching, counts.population_reaching),
        (_("divided by n − 1"), above, counts.unbiased_above),
        (_("divided by n − 1"), reaching, counts.unbiased_reaching),
    ):
        of_pairable = n / counts.pairable_units if counts.pairable_units else None
        rows.append([f"{divided}, {how % {'threshold': f'{threshold:g}'}}", n, of_pairable, n / counts.units])
    title = _("Outputs with ratings far apart: %(question)s") % rated.title_params
    notes = [
        _("%(units)s outputs were rated, %(pairable)s of them twice or more.")
        % {"units": f"{counts.units:,}", "pairable": f"{counts.pairable_units:,}"},
        _(
            "“A variance above” can be read in these ways; figures from elsewhere compare with the one they use."
        ),
    ]
    return Table(rated.key("variance"), title, columns, rows, notes)


def _noise(rated: QuestionRatings, thresholds: tuple[float, ...]) -> Iterator[Block]:
    unit = np.unique(rated.ratings.unit, return_inverse=True)[1]
    noise = noise_reference(
        unit, rated.ratings.value, thresholds=thresholds, resampling=rated.settings.resampling
    )
    if noise.reason is not None:
        sentences = {
            NO_PAIRABLE: _("No output was rated twice, so nothing can be said about disagreement."),
            NO_VARIATION: _("All ratings of outputs that were rated twice are equal: there is no disagreement."),
        }  # fmt: skip
        yield Paragraph(f"{rated.question.title}: {sentences[noise.reason]}")
        return
    columns = (
        Column("threshold", _("Variance above"), "number", 2),
        Column("units", _("Outputs"), "count"),
        Column("observed", _("Share"), "percent", 1),
        Column("expected", _("Share by noise alone"), "percent", 1),
        Column("p", _("p"), "p", 4),
    )
    rows: list[list[Cell]] = [
        [one.threshold, one.above, one.above / noise.units, Measured(one.expected, one.low, one.high), one.p]
        for one in noise.shares
    ]
    title = _("Disagreement, and what noise alone would lead to: %(question)s") % rated.title_params
    notes = [
        _(
            "Variances are divided by n, of %(units)s outputs rated twice or more. Noise alone: outputs lie normally "
            "on a latent scale, every rating adds normal noise of the same size, and points are cut so that each is "
            "as frequent as it was; the noise is as large as it takes for outputs to vary within as much as they did "
            "(two ratings of an output then correlate at %(r).2f). Range of %(repetitions)s simulated studies at "
            "%(level)s, each beside noise as large as fits itself."
        )
        % {
            "units": f"{noise.units:,}",
            "r": noise.consistency,
            "repetitions": f"{noise.repetitions:,}",
            "level": f"{100 * rated.level:g}\N{NO-BREAK SPACE}%",
        },
        _(
            "p: how often such noise leads to a share as far out on either side, not corrected for the two thresholds. "
            "A larger share than by noise means disagreement gathered in some outputs, a smaller one that it is spread."
        ),
    ]
    yield Table(rated.key("noise"), title, columns, rows, notes)


def _contested(rated: QuestionRatings, threshold: float) -> ContestedUnits:
    ratings, remarks = rated.ratings, rated.remarks
    adjusted = severities_of(ratings)[0].adjusted if rated.has_severity else None
    reported = np.isin(rated.counted.units.task, remarks.task[remarks.coded > 0])
    return contested_units(
        ratings.unit, ratings.value, adjusted=adjusted, reported=reported, threshold=threshold
    )


def _shares(
    rated: QuestionRatings, contested: ContestedUnits, order: Sequence[int], threshold: float
) -> Table:
    columns = (
        Column("by", _("By")),
        Column("part", _("Part")),
        Column("units", _("Outputs rated twice or more"), "count"),
        Column("far", _("far apart"), "count"),
        Column("contested", _("contested"), "count"),
        Column("share", _("Share contested"), "percent", 1),
    )
    units = rated.counted.units
    everything = np.zeros(len(units), dtype=np.int64)
    rows = [_part(contested, "", _("All"), everything, 0)]
    rows += [_part(contested, _("system"), rated.votes.systems[one], units.first, one) for one in order]
    for key in sorted(units.strata):
        stratum = units.strata[key]
        rows += [_part(contested, key, value, stratum.of_unit, n) for n, value in enumerate(stratum.values)]
    title = _("Contested outputs: %(question)s") % rated.title_params
    notes = [
        _("Far apart: variance (divided by n) above %(threshold)s.") % {"threshold": f"{threshold:g}"},
        _("Contested: far apart, nobody gave a feedback code, and still far apart without raters' severity.")
        if rated.has_severity
        else _("Contested: far apart, and nobody gave a feedback code. Raters' severity cannot be taken out here."),
    ]  # fmt: skip
    return Table(rated.key("contested"), title, columns, rows, notes)


def _part(contested: ContestedUnits, by: str, part: str, of_unit: IntArray, number: int) -> list[Cell]:
    within = contested.pairable & (of_unit == number)
    masks = (within, within & contested.above_threshold, within & contested.contested)
    n, far, disputed = (int(mask.sum()) for mask in masks)
    return [by, part, n, far, disputed, disputed / n if n else None]


def _listed(rated: QuestionRatings, contested: ContestedUnits) -> Iterator[Block]:
    units, remarks = rated.counted.units, rated.remarks
    listed = contested.ranked_units()
    if not len(listed):
        return
    shown = listed[:MOST_LISTED].tolist()
    names = rated.item_names(units.item_ids[shown].tolist())
    commented = dict(zip(remarks.task.tolist(), remarks.commented.tolist(), strict=True))
    ratings = rated.ratings
    values = {one: np.sort(ratings.value[ratings.unit == one]) for one in shown}
    columns = [
        Column("item", _("Item")),
        Column("system", _("System")),
        Column("ratings", _("Ratings")),
        Column("variance", _("Variance"), "number", 2),
        *([Column("rest", _("without severity"), "number", 2)] if rated.has_severity else []),
        Column("comments", _("Comments"), "count"),
    ]
    rows: list[list[Cell]] = [
        [
            names.get(int(units.item_ids[one]), ""),
            rated.votes.systems[units.first[one]] if units.first[one] >= 0 else "",
            ", ".join(f"{value:g}" for value in values[one]),
            float(contested.variance[one]),
            *([float(contested.adjusted_variance[one])] if rated.has_severity else []),
            commented.get(int(units.task[one]), 0),
        ]
        for one in shown
    ]
    title = _("What people disagree about most: %(question)s") % rated.title_params
    notes = [_("%(shown)s of %(n)s contested outputs, by variance, then by ratings.")
             % {"shown": len(shown), "n": f"{len(listed):,}"}]  # fmt: skip
    yield Table(rated.key("disputed"), title, columns, rows, notes)


def ratings_section(material: ReportData) -> Section | None:
    questions = [load_ratings(material, votes) for votes in material.votes if votes.question.is_rating]
    blocks = [block for one in questions if len(one.votes) for block in question_blocks(one)]
    return Section("ratings", _("Ratings"), blocks) if blocks else None


def question_blocks(rated: QuestionRatings) -> Iterator[Block]:
    """Everything about one question. Values that have names only (the nominal level) are counted, not averaged."""
    if not len(rated.ratings):
        yield Paragraph(_("%(question)s: no rating counts.") % rated.title_params, warning=True)
        return
    means = by_mean(rated)
    order = [one.system for one in means]
    if rated.question.level == "nominal":
        yield from distribution_blocks(rated, order)
        return
    yield from system_blocks(rated, means)
    yield from excluded_blocks(rated, means)
    yield from mushra_blocks(rated)
    yield from distribution_blocks(rated, order)
    yield from same_systems(rated)
    yield from normalised_blocks(rated, order)
    yield from disagreement_blocks(rated, order)
