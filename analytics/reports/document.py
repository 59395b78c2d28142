"""A report as data: what it says, before anybody decides how it looks.

Sections hold blocks; a table holds values, not texts, so that one table is a page's, a CSV's and a paper's. Titles,
captions and sentences are in the language that was active when the section was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# text: a name. count: a whole number. number, percent: with `digits` places; a percent is a fraction of 1.
# p: a p-value, of which a reader sees no more than that it is below the last of its digits.
Kind = Literal["text", "count", "number", "percent", "p"]


@dataclass(frozen=True)
class Measured:
    """A figure with its interval. Where `value` or the interval is None, `reason` is a sentence that says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


Cell = str | int | float | Measured | None


@dataclass(frozen=True)
class Column:
    """`key`: the column's name in a CSV; a measured cell has three columns there, and one more for its reason."""

    key: str
    label: str
    kind: Kind = "text"
    digits: int = 2


@dataclass(frozen=True)
class Table:
    """`key`: unique in a report and fit for a file's name. `notes`: what a reader has to know to read it right."""

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """`svg`: drawn without colours of its own (`on_its_own=False`); whoever shows it brings them."""

    key: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Paragraph:
    """Plain text. `warning`: something a reader must not miss, such as a result that cannot be trusted."""

    text: str
    warning: bool = False


Block = Table | Figure | Paragraph


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """`facts`: label and value, for the head of the report: study, data hash, seed, versions."""

    title: str
    language: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
