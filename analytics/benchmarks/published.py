"""Published figures: rows of papers' tables, transcribed as they are printed, to stand beside one's own.

Each file of `papers/` is one paper, each of its tables one of ours, by name:

    paper = "AURA Score"
    [aqeval-types]
    number = 2                                 the table's own number there, or `place` for figures outside any table
    unit = 100                                 what printed figures are divided by; a list for a column each; 1 without
    labels = ["method", "model"]               what the first entries of a row say; these without
    columns = ["binary: lcc", "word: lcc"]     which figure the others are, by the keys of our columns
    rows = [["BLEU", "", 10.92, 36.92]]        a text in the place of a figure: the paper has none there
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

_PAPERS = Path(__file__).parent / "papers"
_LABELS = ("method", "model")


@dataclass(frozen=True)
class PublishedFigure:
    """A figure as printed, with all its digits, and in our unit."""

    printed: Decimal
    unit: int

    @property
    def value(self) -> float:
        return float(self.printed / self.unit)


@dataclass(frozen=True)
class PublishedRow:
    """One row of a table. `source` is the paper and its table: "AURA Score, table 2". Figures by the key of our column;
    those that the paper lacks are not there."""

    labels: Mapping[str, str]
    figures: Mapping[str, PublishedFigure]
    source: str

    @property
    def method(self) -> str:
        return self.labels.get("method", "")

    @property
    def model(self) -> str:
        return self.labels.get("model", "")


def published_rows(table: str) -> list[PublishedRow]:
    """The rows of all papers for one of our tables, in their order; none where no paper has that table."""
    return [row for name, row in _all_rows() if name == table]


def published_tables() -> set[str]:
    """The names of the tables that have any."""
    return {name for name, _row in _all_rows()}


@cache
def _all_rows() -> tuple[tuple[str, PublishedRow], ...]:
    return tuple(row for path in sorted(_PAPERS.glob("*.toml")) for row in _rows_of(path))


def _rows_of(path: Path) -> Iterator[tuple[str, PublishedRow]]:
    # As Decimal a figure keeps its last zeros: 81.20 says more than 81.2.
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    paper = content.pop("paper")
    for name, table in content.items():
        place = f"table {table['number']}" if "number" in table else table["place"]
        for row in table["rows"]:
            yield name, _row(table, row, source=f"{paper}, {place}")


def _row(table: Mapping[str, Any], row: list[Any], *, source: str) -> PublishedRow:
    labels, columns = table.get("labels", _LABELS), table["columns"]
    units = table.get("unit", 1)
    units = units if isinstance(units, list) else [units] * len(columns)
    printed = row[len(labels) :]
    return PublishedRow(
        dict(zip(labels, row[: len(labels)], strict=True)),
        {
            column: PublishedFigure(Decimal(figure), unit)
            for column, figure, unit in zip(columns, printed, units, strict=True)
            if not isinstance(figure, str)
        },
        source,
    )
