"""A document as HTML: by itself in one file that needs nothing else, or as a part of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe

from analytics.reports.document import Document, Figure, Paragraph, Section, Table
from analytics.reports.render.layout import TableLayout, lay_out_table

# Style sheets as text, for what has to look right without this server.


def static_text(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str), name
    return Path(path).read_text(encoding="utf-8")


STYLES = ("css/variables.css", "css/figures.css", "css/line_plot.css", "css/paper.css")

# A table that fits on a page is not broken over two.
_ONE_PAGE_ROWS = 30

Address = Callable[[str, str], str]


@dataclass(frozen=True)
class ShownTable:
    """`number`: in the order of the document. `left_out`: rows that only its files have."""

    number: int
    table: Table
    found: TableLayout
    left_out: int
    csv: str = ""
    latex: str = ""
    kind: str = "table"

    @property
    def classes(self) -> str:
        names = ("whole", len(self.table.rows) <= _ONE_PAGE_ROWS), ("wide", self.found.is_wide)
        return " ".join(name for name, applies in names if applies)


@dataclass(frozen=True)
class ShownFigure:
    number: int
    figure: Figure
    svg: SafeString
    file: str = ""
    kind: str = "figure"


@dataclass(frozen=True)
class ShownParagraph:
    paragraph: Paragraph
    kind: str = "paragraph"


@dataclass(frozen=True)
class ShownSection:
    section: Section
    blocks: Sequence[ShownTable | ShownFigure | ShownParagraph]


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
) -> Iterator[ShownSection]:
    tables = figures = 0
    for section in document.sections:
        blocks: list[ShownTable | ShownFigure | ShownParagraph] = []
        for block in section.blocks:
            if isinstance(block, Table):
                tables += 1
                blocks.append(_table(block, tables, address, most_rows))
            elif isinstance(block, Figure):
                figures += 1
                file = address(block.key, "svg") if address else ""
                # Drawn by our own functions, which escape every text.
                blocks.append(ShownFigure(figures, block, mark_safe(block.svg), file))
            else:
                blocks.append(ShownParagraph(block))
        yield ShownSection(section, blocks)


def _table(table: Table, number: int, address: Address | None, most_rows: int | None) -> ShownTable:
    files = (address(table.key, "csv"), address(table.key, "tex")) if address else ("", "")
    left_out = max(0, len(table.rows) - most_rows) if most_rows is not None else 0
    return ShownTable(number, table, lay_out_table(table, most_rows=most_rows), left_out, *files)
