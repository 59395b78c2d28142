"""How strict each rater is, beside what others say of the same outputs."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Cell, Column, Measured, Table
from analytics.reports.paper.rated import Rated
from analytics.statistics.mean_opinion import Ratings
from analytics.statistics.rater_normalised import Severities


def severity_table(rated: Rated, ratings: Ratings, found: Severities) -> Table:
    """`found`: of the named raters of `ratings`, in the order of their numbers there."""
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
            _severity(rated, float(found.severity[one]), found.se[one]),
            int(found.n[one]),
            int(found.shared[one]),
            found.residual_sd[one],
        ]
        for one in np.argsort(-np.round(found.severity, 12), kind="stable").tolist()
    ]
    title = _("Raters' severity: %(question)s") % {"question": rated.question.title}
    notes = [
        _("Severity: how much lower a rater rates than others rate the same outputs, the strictest first. Its interval "
          "takes the others' severities as known. SD of the rest: of what severity and output leave unexplained; the "
          "smaller, the more consistent.")
    ]  # fmt: skip
    return Table(rated.key("severities"), title, columns, rows, notes)


def _severity(rated: Rated, severity: float, se: float | None) -> Measured:
    if se is None:
        return Measured(severity, reason=_("Too few ratings of outputs that others rated too."))
    half = NormalDist().inv_cdf((1 + rated.level) / 2) * se
    return Measured(severity, severity - half, severity + half)
