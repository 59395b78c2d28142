"""Summary: the first page of a report, read off its own sections, and which blocks of a report are empty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Figure, Measured, Paragraph, Section, Table
from analytics.reports.render.layout import format_value
from analytics.reports.sections.material import ReportData, join_sentences

# Krippendorff (2018): from here on data are reliable, and from here on conclusions may be drawn with care.
RELIABLE, TENTATIVE = 0.8, 0.667
SYSTEMS_NAMED, WARNINGS_NAMED = 4, 4
# What a drawing shows something with; lines alone are its axes.
_MARK = re.compile(r"<(circle|rect|path|polyline|polygon|ellipse)\b")
_NUMBER, _PERCENT = Column("", "", "number", 2), Column("", "", "percent", 1)


def without_empty_blocks(sections: Sequence[Section]) -> list[Section]:
    """Without tables that have no rows, drawings that show nothing, and sections in which nothing is left."""
    shown = []
    for section in sections:
        blocks = [block for block in section.blocks if not _is_empty(block)]
        if blocks:
            shown.append(Section(section.key, section.title, blocks))
    return shown


def _is_empty(block: Block) -> bool:
    if isinstance(block, Table):
        return not block.rows
    if isinstance(block, Figure):
        return not _MARK.search(block.svg)
    return not block.text.strip()


def summary_section(material: ReportData, sections: Sequence[Section]) -> Section:
    """Questions, amount of data and results in plain words, read off the other sections: no figure is recomputed."""
    tables = {
        block.key: block for section in sections for block in section.blocks if isinstance(block, Table)
    }
    blocks: list[Block] = [Paragraph(_collected(material, tables))]
    for votes in material.votes:
        key, title = votes.question.key, votes.question.title
        lines = [*_agreement(title, tables), *_standings(key, tables)]
        if lines:
            blocks.append(Paragraph(f"{_quoted(title)} {join_sentences(lines)}"))
    blocks += _warnings(sections)
    return Section("summary", _("Summary"), blocks)


def _quoted(title: str) -> str:
    return f"“{title}”"


def _collected(material: ReportData, tables: dict[str, Table]) -> str:
    counts = [row[1] for row in tables["collected"].rows]
    items, _tasks, judged, systems, judgments, counted, raters = counts
    questions = ("、" if (get_language() or "").startswith("zh") else ", ").join(
        _quoted(votes.question.title) for votes in material.votes
    )
    lines = []
    if questions:
        lines.append(_("Raters answered: %(questions)s.") % {"questions": questions})
    text = _(
        "%(counted)s of %(judgments)s judgments count. They are of %(tasks)s tasks about %(items)s items and "
        "%(systems)s systems."
    )
    values = {"counted": counted, "judgments": judgments, "tasks": judged, "items": items, "systems": systems}
    lines.append(
        text % {name: format_value(_plain(n), Column("", "", "count")) for name, n in values.items()}
    )
    if isinstance(raters, int):
        lines.append(
            ngettext("%(n)s rater gave them.", "%(n)s raters gave them.", raters) % {"n": f"{raters:,}"}
        )
    return join_sentences(lines)


def _agreement(title: str, tables: dict[str, Table]) -> Iterator[str]:
    row = _row_of("agreement", title, tables)
    alpha = row.get("alpha") if row else None
    if not isinstance(alpha, Measured):
        return
    if alpha.value is None:
        yield _("Agreement cannot be computed: %(reason)s") % {
            "reason": alpha.reason or _("too few shared votes.")
        }
        return
    text = _("Krippendorff’s alpha is %(alpha)s%(interval)s: %(meaning)s.")
    yield text % {
        "alpha": format_value(alpha.value, _NUMBER),
        "interval": _interval(alpha, _NUMBER),
        "meaning": _meaning(alpha.value),
    }


def _meaning(alpha: float) -> str:
    if alpha >= RELIABLE:
        return _("by custom, reliable")
    if alpha >= TENTATIVE:
        return _("by custom, enough for tentative conclusions")
    if alpha > 0:
        return _("below what is by custom enough for conclusions")
    return _("no more than chance would give")


def _standings(key: str, tables: dict[str, Table]) -> Iterator[str]:
    """The systems, the best first: shares of comparisons won, or mean ratings."""
    if wins := tables.get(f"preferences-{key}-wins"):
        ranked = _systems(wins, "win_rate", _PERCENT)
        if ranked:
            yield _("Preferred most often: %(systems)s.") % {"systems": ", ".join(ranked)}
    if means := tables.get(f"ratings-systems-{key}"):
        ranked = _systems(means, "mean", _NUMBER)
        if ranked:
            yield _("Highest means: %(systems)s.") % {"systems": ", ".join(ranked)}


def _systems(table: Table, prefix: str, column: Column) -> list[str]:
    keys = [one.key for one in table.columns]
    figure = next((place for place, key in enumerate(keys) if key.startswith(prefix)), None)
    if figure is None:
        return []
    cells = []
    for row in table.rows:
        cell, system = row[figure], row[keys.index("system")]
        if isinstance(cell, Measured) and cell.value is not None and system != _("All"):
            cells.append((cell.value, str(system), cell))
    cells.sort(key=lambda one: (-one[0], one[1]))
    return [
        f"{system} {format_value(value, column)}{_interval(cell, column)}"
        for value, system, cell in cells[:SYSTEMS_NAMED]
    ]


def _interval(cell: Measured, column: Column) -> str:
    if cell.low is None or cell.high is None:
        return ""
    low, high = format_value(cell.low, column), format_value(cell.high, column)
    return _(" (95 % interval {low} to {high})").format(low=low, high=high)


def _row_of(key: str, title: str, tables: dict[str, Table]) -> dict[str, Cell] | None:
    table = tables.get(key)
    if table is None:
        return None
    names = [column.key for column in table.columns]
    rows = (dict(zip(names, row, strict=True)) for row in table.rows)
    return next((row for row in rows if row.get("question") == title), None)


def _warnings(sections: Sequence[Section]) -> list[Paragraph]:
    """What a reader must not miss, once each; the rest stand where they belong."""
    texts = dict.fromkeys(
        block.text
        for section in sections
        for block in section.blocks
        if isinstance(block, Paragraph) and block.warning
    )
    shown = [Paragraph(text, warning=True) for text in list(texts)[:WARNINGS_NAMED]]
    if more := len(texts) - len(shown):
        text = ngettext("%(n)d more warning stands below.", "%(n)d more warnings stand below.", more)
        shown.append(Paragraph(text % {"n": more}))
    return shown


def _plain(cell: Cell) -> float | str | None:
    return cell.value if isinstance(cell, Measured) else cell
