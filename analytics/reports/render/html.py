"""A document as HTML: by itself in one file that needs nothing else, or as a part of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe

from analytics.reports.document import Document, Figure, Table
from analytics.reports.render.layout import lay_out_table


def static_text(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str), name
    return Path(path).read_text(encoding="utf-8")


STYLES = ("css/variables.css", "css/figures.css", "css/line_plot.css", "css/paper.css")

# A table that fits on a page is not broken over two.
_ONE_PAGE_ROWS = 30

Address = Callable[[str, str], str]


def render_standalone(document: Document) -> str:
    """One file: no script, no font, no picture, nothing from a network. Equal documents give equal bytes."""
    css = "\n".join(static_text(name) for name in STYLES)
    context = {"document": document, "sections": list(_sections(document)), "css": mark_safe(css)}
    with translation.override(document.language):
        return render_to_string("analytics/report/standalone.html", context)


def render_part(
    document: Document, *, address: Address | None = None, most_rows: int | None = None
) -> SafeString:
    """The document without head and style. Long tables end at `most_rows`; `address(key, extension)` of a table or
    figure is where its file is, or empty where it has none."""
    sections = list(_sections(document, address=address, most_rows=most_rows))
    with translation.override(document.language):
        return render_to_string(
            "analytics/report/document.html", {"document": document, "sections": sections}
        )


def _sections(
    document: Document, *, address: Address | None = None, most_rows: int | None = None
) -> Iterator[dict[str, Any]]:
    """Each with its blocks as the templates take them; tables and figures are numbered through the document."""
    tables = figures = 0
    for section in document.sections:
        blocks: list[dict[str, Any]] = []
        for block in section.blocks:
            if isinstance(block, Table):
                tables += 1
                blocks.append({"kind": "table", "number": tables, **_table(block, address, most_rows)})
            elif isinstance(block, Figure):
                figures += 1
                # Drawn by our own functions, which escape every text.
                drawing = {"svg": mark_safe(block.svg), "file": address(block.key, "svg") if address else ""}
                blocks.append({"kind": "figure", "number": figures, "figure": block, **drawing})
            else:
                blocks.append({"kind": "paragraph", "paragraph": block})
        yield {"section": section, "blocks": blocks}


def _table(table: Table, address: Address | None, most_rows: int | None) -> dict[str, Any]:
    """`left_out`: rows that only its files have."""
    layout = lay_out_table(table, most_rows=most_rows)
    classes = ("whole", len(table.rows) <= _ONE_PAGE_ROWS), ("wide", layout.is_wide)
    return {
        "table": table,
        "found": layout,
        "left_out": 0 if most_rows is None else max(0, len(table.rows) - most_rows),
        "classes": " ".join(name for name, applies in classes if applies),
        "csv": address(table.key, "csv") if address else "",
        "latex": address(table.key, "tex") if address else "",
    }
