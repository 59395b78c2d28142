"""MUSHRA: medians and interquartile ranges, as Recommendation ITU-R BS.1534 asks, with and without listeners whom
post-screening marks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Table
from analytics.reports.paper.rated import Rated
from analytics.reports.paper.ratings_systems import measured
from analytics.statistics.mean_opinion import Opinion, Ratings, opinions


def mushra(rated: Rated) -> Iterator[Block]:
    if not rated.listeners:
        return
    marked = sorted(name for name, found in rated.listeners.items() if found.marks)
    yield _screening(rated, marked)
    everybody = opinions(rated.ratings, level=rated.level)
    left = {one.system: one for one in opinions(_without(rated, marked), level=rated.level)} if marked else {}
    yield _table(rated, everybody, left)


def _without(rated: Rated, marked: list[str]) -> Ratings:
    numbers = [number for number, name in enumerate(rated.votes.raters) if name in marked]
    return rated.ratings.of(~np.isin(rated.ratings.rater, numbers))


def _screening(rated: Rated, marked: list[str]) -> Paragraph:
    words = {"question": rated.question.title, "n": len(rated.listeners), "marked": len(marked)}
    if not marked:
        return Paragraph(_("%(question)s: post-screening marks none of %(n)s listeners.") % words)
    return Paragraph(
        _("%(question)s: post-screening marks %(marked)s of %(n)s listeners (%(names)s): the hidden reference below "
          "90, or the 7 kHz anchor above 90, in more than 15 %% of their trials. They are left out of the columns "
          "“screened” only.")
        % {**words, "names": ", ".join(marked)}
    )  # fmt: skip


def _table(rated: Rated, everybody: list[Opinion], left: dict[int, Opinion]) -> Table:
    columns = [Column("system", _("System")), Column("role", _("Role")), *_columns("", "")]
    if left:
        columns += _columns("screened_", _("screened"))
    rows: list[list[Cell]] = []
    for one in sorted(everybody, key=lambda one: (-(one.median or 0.0), -(one.mean or 0.0), one.system)):
        name = rated.votes.systems[one.system]
        cells: list[Cell] = [name, rated.roles.get(name, ""), *_cells(one)]
        rows.append(cells + (_cells(left.get(one.system)) if left else []))
    title = _("Medians and interquartile ranges: %(question)s") % {"question": rated.question.title}
    notes = [
        _("Range: from the first to the third quartile. Quartiles lie between ratings where they have to."),
        _("Intervals of means as in the table of systems."),
    ]
    return Table(rated.key("mushra"), title, columns, rows, notes)


def _columns(prefix: str, which: str) -> list[Column]:
    def titled(label: str) -> str:
        return f"{label}, {which}" if which else label

    return [
        Column(f"{prefix}n", titled(_("Ratings")), "count"),
        Column(f"{prefix}median", titled(_("Median [range]")), "number", 1),
        Column(f"{prefix}iqr", titled(_("IQR")), "number", 1),
        Column(f"{prefix}mean", titled(_("Mean")), "number", 1),
    ]


def _cells(one: Opinion | None) -> list[Cell]:
    if one is None or one.quartiles is None:
        nobody = _("Nobody is left.")
        return [0, Measured(None, reason=nobody), None, Measured(None, reason=nobody)]
    low, high = one.quartiles
    return [one.ratings, Measured(one.median, low, high), high - low, measured(one)]
