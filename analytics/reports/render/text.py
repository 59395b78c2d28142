"""A document as plain text: aligned columns for a terminal, with the tables' notes below them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from analytics.reports.document import Document, Figure, Table
from analytics.reports.render.layout import Entry, Head, lay_out_table

_WIDTH = 100
_INDENT, _BETWEEN = "  ", "  "


def document_text(document: Document) -> str:
    """Title, facts, and sections without their figures."""
    lines = [document.title, *(f"{_INDENT}{label}: {value}" for label, value in document.facts)]
    for section in document.sections:
        lines += ["", section.title, "=" * len(section.title)]
        for block in section.blocks:
            if not isinstance(block, Figure):
                lines += ["", *(table_lines(block) if isinstance(block, Table) else _wrapped(block.text))]
    return "\n".join(lines)


def table_lines(table: Table) -> Iterator[str]:
    layout = lay_out_table(table)
    columns = [_column(head, [row[place] for row in layout.rows]) for place, head in enumerate(layout.heads)]
    if table.caption:
        yield table.caption
    for cells in zip(*columns, strict=True):
        yield (_INDENT + _BETWEEN.join(cells)).rstrip()
    for letter, reason in layout.reasons:
        yield from _wrapped(f"({letter}) {reason}")
    for note in table.notes:
        yield from _wrapped(note)


def _column(head: Head, entries: Sequence[Entry]) -> list[str]:
    """The label and the cells, all equally wide; intervals begin below each other."""
    values = [entry.text + (f"({entry.letter})" if entry.letter else "") for entry in entries]
    if head.spread:
        width, spread = _longest(values), _longest([entry.interval for entry in entries])
        values = [
            f"{value:>{width}} {entry.interval:<{spread}}"
            for value, entry in zip(values, entries, strict=True)
        ]
    width = _longest([head.label, *values])
    return [
        f"{cell:>{width}}" if head.kind == "number" else f"{cell:<{width}}" for cell in (head.label, *values)
    ]


def _longest(texts: Sequence[str]) -> int:
    return max(map(len, texts), default=0)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
