"""How far a reader has come in its source, so that another can go on from there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass
class Place:
    """Where the last row ends that was read and dealt with: `offset` bytes and `line` lines into a file of lines.

    header: the names of a CSV file's columns. columns: those met so far, with the kinds of their values; told: those of
    them that were told to mean nothing here.
    """

    offset: int = 0
    line: int = 0
    header: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    # Where the row ends that is being dealt with.
    ahead: tuple[int, int] = field(default=(0, 0), repr=False)

    def begin(self) -> None:
        self.ahead = self.offset, self.line

    def read(self, n_bytes: int) -> None:
        self.ahead = self.ahead[0] + n_bytes, self.ahead[1] + 1

    def advance(self) -> None:
        """Whoever reads has come back for more: the row before is dealt with."""
        self.offset, self.line = self.ahead

    def kept(self) -> Place:
        """As it is now, to go on from later."""
        return replace(self, columns=dict(self.columns))
