"""Trials with a known answer: ABX tests by pair of systems."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _

from analytics.reports import trials
from analytics.reports.document import Block, Cell, Column, Measured, Table
from analytics.reports.paper.material import Material
from analytics.statistics.sequential import wilson_interval


def trial_blocks(material: Material) -> Iterator[Block]:
    found = trials.abx_report(material.study)
    if found is not None:
        yield _abx(found, level=material.settings.resampling.level)


def _abx(found: trials.AbxReport, *, level: float) -> Table:
    columns = (
        Column("pair", _("Pair")),
        Column("answers", _("Answers"), "count"),
        Column("right", _("Right"), "count"),
        Column("share", _("Share right"), "percent", 1),
        Column("p", _("p, by guessing"), "p", 4),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, one in [*((pair.name, pair) for pair in found.pairs), (_("All pairs"), found.total)]:
        share = Measured(one.share, *wilson_interval(one.correct, one.n, level=level))
        rows.append((name, one.n, one.correct, share, one.guessing))
    notes = [
        _(
            "Intervals of shares are Wilson's at %(level)s; p is the chance of so many right answers or more by "
            "guessing (exact, one-sided). Both take answers as independent."
        )
        % {"level": f"{100 * level:g} %"}
    ]
    return Table("preferences-abx", _("ABX: answers that named what X was"), columns, rows, notes)
