"""How far a reader has come in its source, so that another can go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Place:
    """Where the last row ends that was read and dealt with: `offset` bytes and `line` lines into a file of lines.

    header: the names of a CSV file's columns. columns: those met so far, with the kinds of their values; told: those of
    them that were told to mean nothing here. The last two are never changed but exchanged, and know of the row that is
    being dealt with as well.
    """

    offset: int = 0
    line: int = 0
    header: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    # Where the row ends that is being dealt with, and what was known of columns before it.
    ahead: tuple[int, int] = field(default=(0, 0), repr=False)
    _before: tuple[Mapping[str, str], tuple[str, ...]] = field(default=({}, ()), init=False, repr=False)

    def begin(self) -> None:
        self.ahead = self.offset, self.line
        self._before = self.columns, self.told

    def read(self, n_bytes: int) -> None:
        self.ahead = self.ahead[0] + n_bytes, self.ahead[1] + 1

    def advance(self) -> None:
        """Whoever reads has come back for more: the row before is dealt with."""
        self.offset, self.line = self.ahead
        self._before = self.columns, self.told

    def kept(self) -> dict[str, Any]:
        """As plain values, to go on from later. Whoever does reads the row at hand again, and tells what it adds again;
        a source that knows of no place (`offset` is 0) is read from its beginning."""
        columns, told = self._before if self.offset else (self.columns, self.told)
        return {
            "offset": self.offset,
            "line": self.line,
            "header": self.header,
            "columns": dict(columns),
            "told": told,
        }
