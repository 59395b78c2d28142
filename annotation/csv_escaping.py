"""CSV injection: cells that a spreadsheet would run as a formula are escaped when written, and unescaped when read."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

# The full-width signs, too: a spreadsheet set to Chinese or Japanese reads them as the narrow ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def escape_formula(text: str) -> str:
    """With an apostrophe before it, which makes it text to a spreadsheet, where it would run otherwise.

    One that begins with apostrophes and goes on like a formula gets another, so that `unescape_formula` is exact.
    """
    return f"'{text}" if text.lstrip("'").startswith(FORMULA_STARTS) else text


def unescape_formula(cell: str) -> str:
    """The text that `escape_formula` was given."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA_STARTS) else cell


class _LineBuffer:
    """What a CSV writer writes to: it hands back each line."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """The lines of a CSV file, one at a time, with every cell escaped."""
    writer = csv.writer(_LineBuffer())
    for row in rows:
        yield str(writer.writerow([escape_formula(str(cell)) for cell in row]))
