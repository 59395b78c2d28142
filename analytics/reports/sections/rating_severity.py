"""Rater severity: means with the raters' own use of the scale removed, and whether raters met the same systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import NormalDist

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.votes import NOBODY
from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Table
from analytics.reports.sections.rating_data import QuestionRatings
from analytics.statistics.arrays import FloatArray
from analytics.statistics.ratings.mean_opinion import Ratings
from analytics.statistics.ratings.range_equalising import (
    SystemExposure,
    rating_sessions,
    system_absences,
    system_exposure,
)
from analytics.statistics.ratings.rater_severity import Severities, rater_severities, z_scored


def severity_table(rated: QuestionRatings, ratings: Ratings, severities: Severities) -> Table:
    """`severities`: of the named raters of `ratings`, in the order of their numbers there."""
    numbers = np.unique(ratings.rater)
    columns = (
        Column("rater", _("Rater")),
        Column("severity", _("Severity"), "number", 2),
        Column("ratings", _("Ratings"), "count"),
        Column("shared", _("of outputs that others rated"), "count"),
        Column("residual", _("SD of the rest"), "number", 2),
    )
    rows: list[list[Cell]] = [
        [
            rated.votes.raters[numbers[one]],
            _severity(rated, float(severities.severity[one]), severities.se[one]),
            int(severities.n[one]),
            int(severities.shared[one]),
            severities.residual_sd[one],
        ]
        for one in np.argsort(-np.round(severities.severity, 12), kind="stable").tolist()
    ]
    title = _("Raters' severity: %(question)s") % rated.title_params
    notes = [
        _("Severity: how much lower a rater rates than others rate the same outputs, the strictest first. Its interval "
          "takes the others' severities as known. SD of the rest: of what severity and output leave unexplained; the "
          "smaller, the more consistent.")
    ]  # fmt: skip
    return Table(rated.key("severities"), title, columns, rows, notes)


def _severity(rated: QuestionRatings, severity: float, se: float | None) -> Measured:
    if se is None:
        return Measured(severity, reason=_("Too few ratings of outputs that others rated too."))
    half = NormalDist().inv_cdf((1 + rated.level) / 2) * se
    return Measured(severity, severity - half, severity + half)


# Means that differ by less are the same: rounding is no rank.
_SAME = 1e-9


def normalised_blocks(rated: QuestionRatings, order: Sequence[int]) -> Iterator[Block]:
    """`order`: the systems as the other tables list them."""
    ratings = rated.ratings.of(rated.ratings.rater != NOBODY)
    if len(np.unique(ratings.rater)) < 2:
        yield Paragraph(
            _("%(question)s: fewer than two raters are named, so raters' severity cannot be taken out of the means.")
            % rated.title_params
        )  # fmt: skip
    elif len(order) > 1:
        yield from _normalised(rated, ratings, order)


def same_systems(rated: QuestionRatings) -> Iterator[Block]:
    """Whether raters, sittings and times met the same systems; a warning where they did not."""
    known = rated.ratings.system >= 0
    system, rater, at = rated.ratings.system[known], rated.ratings.rater[known], rated.counted.at[known]
    if len(np.unique(system)) < 2:
        return
    named = rater != NOBODY
    groups: list[tuple[str, SystemExposure]] = []
    if len(np.unique(rater[named])) > 1:
        groups.append((_("Rater"), system_exposure(system[named], rater[named])))
        by_sitting = system_exposure(system[named], rating_sessions(rater[named], at[named]))
        if by_sitting.groups > groups[0][1].groups:
            groups.append((_("Sitting"), by_sitting))
    if groups:
        if groups[0][1].differs:
            yield _company_warning(rated, groups[0][1])
        yield _company_table(rated, groups)
    elif not named.any():
        yield Paragraph(
            _("%(question)s: raters are not named, so it cannot be checked whether all met the same systems. Means "
              "are only comparable if they did: raters spread what they meet over the whole scale.")
            % rated.title_params
        )  # fmt: skip
    yield from _absence_warnings(rated, system, at)


def severities_of(ratings: Ratings) -> tuple[Severities, bool]:
    """Of named raters' ratings; and whether units were shared. Without a unit that two people rated, raters are
    compared by systems instead, as if all outputs of a system were equally good."""
    number = np.unique(ratings.rater, return_inverse=True)[1]
    unit = np.unique(ratings.unit, return_inverse=True)[1]
    severities = rater_severities(unit, number, ratings.value)
    if severities.shared.any():
        return severities, True
    return rater_severities(np.unique(ratings.system, return_inverse=True)[1], number, ratings.value), False


def _normalised(rated: QuestionRatings, ratings: Ratings, order: Sequence[int]) -> Iterator[Block]:
    scored, (severities, shared) = z_scored(ratings.value, ratings.rater), severities_of(ratings)
    titles = [_("as given"), _("z-scored"), _("without severity")]
    values = (ratings.value, scored.value, severities.adjusted)
    means = [_means_of(ratings, value, order) for value in values]
    ranks = [_ranks(own) for own in means]
    columns = [Column("system", _("System"))]
    for key, title in zip(("given", "z", "severity"), titles, strict=True):
        columns.append(Column(key, _("Mean, %(variant)s") % {"variant": title}, "number", 2))
        columns.append(Column(f"{key}_rank", _("Rank"), "count"))
    rows: list[list[Cell]] = []
    for one in order:
        pairs = [(mean[one], rank.get(one)) for mean, rank in zip(means, ranks, strict=True)]
        rows.append([rated.votes.systems[one], *chain.from_iterable(pairs)])
    title = _("Means with raters' use of the scale taken out: %(question)s") % rated.title_params
    notes = list(_notes(severities, shared=shared, left_out=scored.left_out))
    yield Table(rated.key("normalised"), title, columns, rows, notes)
    yield Paragraph(_rank_changes(rated, order, titles, ranks))
    if shared:
        yield severity_table(rated, ratings, severities)


def _means_of(ratings: Ratings, value: FloatArray, order: Sequence[int]) -> dict[int, float | None]:
    own = {one: value[(ratings.system == one) & ~np.isnan(value)] for one in order}
    return {one: float(values.mean()) if len(values) else None for one, values in own.items()}


def _ranks(means: Mapping[int, float | None]) -> dict[int, int]:
    """1 for the highest; equal means share the better rank."""
    known = {one: mean for one, mean in means.items() if mean is not None}
    return {one: 1 + sum(other > mean + _SAME for other in known.values()) for one, mean in known.items()}


def _rank_changes(
    rated: QuestionRatings, order: Sequence[int], titles: Sequence[str], ranks: Sequence[Mapping[int, int]]
) -> str:
    changes = [
        _("%(variant)s: %(system)s %(before)d → %(after)d")
        % {"variant": title, "system": rated.votes.systems[one], "before": ranks[0][one], "after": of[one]}
        for title, of in zip(titles[1:], ranks[1:], strict=True)
        for one in order
        if one in of and one in ranks[0] and of[one] != ranks[0][one]
    ]
    if not changes:
        return _("No system's rank changes when raters' use of the scale is taken out.")
    text = _("Ranks that change when raters' use of the scale is taken out: %(changes)s.")
    return text % {"changes": "; ".join(changes)}


def _notes(severities: Severities, *, shared: bool, left_out: int) -> Iterator[str]:
    yield _(
        "z-scored: each rater's ratings less their mean, divided by their standard deviation, brought back to the "
        "scale. This takes away differences too that come from having rated other systems."
    )
    if left_out:
        text = _("Left out of the z-scores: %(n)s raters with one rating, or who always gave the same.")
        yield text % {"n": left_out}
    yield _(
        "Without severity: rating = unit less the rater's severity, by least squares with a slight pull of "
        "severities to zero; severities reach from %(low)+.2f to %(high)+.2f."
    ) % {"low": severities.severity.min(), "high": severities.severity.max()}
    if not shared:
        yield _(
            "No output was rated by two people, so severity was told from systems, as if all outputs of one were "
            "equally good."
        )
    if not severities.converged:
        yield _("The severities were not solved to full precision.")


def _company_table(rated: QuestionRatings, groups: Sequence[tuple[str, SystemExposure]]) -> Table:
    columns = (
        Column("group", _("Compared")),
        Column("groups", _("How many"), "count"),
        Column("all", _("met all systems"), "count"),
        Column("most", _("half or more"), "count"),
        Column("few", _("less than half"), "count"),
        Column("overlap", _("Overlap"), "percent", 0),
        Column("apart", _("Pairs of systems nobody met both of"), "count"),
    )
    rows: list[list[Cell]] = [
        [name, one.groups, one.all, one.most, one.few, _overlap(one), one.never_together]
        for name, one in groups
    ]
    values = {**rated.title_params, "n": groups[0][1].systems}
    title = _("Who met which of the %(n)s systems: %(question)s") % values
    notes = [
        _("Overlap: of the systems that either of two met, the share that both met, on average over pairs."),
        *([_("A sitting ends with a break of half an hour.")] if len(groups) > 1 else []),
    ]
    return Table(rated.key("company"), title, columns, rows, notes)


def _overlap(exposure: SystemExposure) -> Measured:
    known = exposure.overlap is not None
    return Measured(exposure.overlap, reason=None if known else _("There is only one."))


def _company_warning(rated: QuestionRatings, exposure: SystemExposure) -> Paragraph:
    text = _(
        "%(question)s: raters did not all meet the same systems. Of %(raters)s raters %(all)s met all %(systems)s "
        "systems, %(most)s met half of them or more and %(few)s met fewer. Raters spread what they meet over the "
        "whole scale (range-equalising bias), so means of raters who met different systems are not comparable. "
        "Systems dealt out by chance even this out on average; anything else does not."
    ) % {
        "question": rated.question.title,
        "raters": exposure.groups,
        "all": exposure.all,
        "systems": exposure.systems,
        "most": exposure.most,
        "few": exposure.few,
    }
    return Paragraph(text, warning=True)


def _absence_warnings(
    rated: QuestionRatings, system: np.ndarray[tuple[int], np.dtype[np.int64]], at: FloatArray
) -> Iterator[Paragraph]:
    absences = system_absences(system, at)
    if not absences:
        return
    listed = "; ".join(
        _("%(system)s (quarter %(windows)s)")
        % {"system": rated.votes.systems[one.system], "windows": ", ".join(map(str, one.windows))}
        for one in absences
    )
    text = _(
        "%(question)s: the set of systems changed while the study ran. With the ratings in four quarters by time, "
        "there is none of %(systems)s, which is not chance. Means from before and after such a change are not "
        "comparable (range-equalising bias)."
    )
    yield Paragraph(text % {"question": rated.question.title, "systems": listed}, warning=True)
