"""Rows of CSV and TSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.importing.formats import source_files
from annotation.importing.formats.dialects import Dialect, detect_dialect
from annotation.importing.formats.source_files import ReadPosition
from annotation.importing.records import RowProblem

REMEDIES = {
    "field larger": "Is a quote left open? A cell has at most 131,072 characters.",
    "new-line character": "End lines with a line feed: these end in carriage returns alone.",
    "unexpected end": "Is a quote left open? Quote cells that hold quotes or line breaks, and double their quotes.",
}


def tsv_rows(
    source: Path, place: ReadPosition | None = None, *, encoding: str = ""
) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    return csv_rows(source, place, delimiter="\t", encoding=encoding)


def csv_rows(
    source: Path, place: ReadPosition | None = None, *, delimiter: str = "", encoding: str = ""
) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """The rows below a header by the number of their last line. What is not named of delimiter and encoding is
    detected."""
    dialect = detect_dialect(source, separator=delimiter, encoding=encoding)
    delimiter = dialect.separator
    place = place or ReadPosition()
    text = _Lines(source, place, dialect)
    reader = csv.reader(text, strict=True, delimiter=delimiter)
    try:
        if not place.header:
            header = [name.strip() for name in next(reader, [])]
            if (
                len(header) == 2 and header[0] == "sep=" and not header[1]
            ):  # the line in which Excel names its separator
                header = [name.strip() for name in next(reader, [])]
            if faults := text.taken() or _wrong_header(header, delimiter):
                yield from faults
                return
            place.header = tuple(header)
            place.advance()
        header = list(place.header)
        for cells in reader:
            row = str(place.pending[1])
            if faults := text.taken():
                yield from faults  # what is left of the row is not what was written
            elif len(cells) == len(header):
                yield row, dict(zip(header, cells, strict=True))
            elif any(cells):
                problem = f"has {len(cells)} cells, the header has {len(header)}"
                yield RowProblem(row, "", problem, f"Quote cells that hold {dialect.separator_title}.")
            place.advance()
    except csv.Error as error:
        yield from text.taken()
        fallback = "Quote cells that hold quotes or line breaks."
        remedy = next((one for start, one in REMEDIES.items() if str(error).startswith(start)), fallback)
        yield RowProblem(str(place.line + 1), "", f"is not CSV: {error}; nothing after it was read", remedy)
    yield from text.taken()


class _Lines:
    """A source's lines for the csv module, and the faults found among them since they were last taken."""

    def __init__(self, source: Path, place: ReadPosition, dialect: Dialect) -> None:
        self._lines = source_files.decoded_lines(
            source, place, encoding=dialect.encoding, n_mark_bytes=dialect.n_mark_bytes
        )
        self._faults: list[RowProblem] = []
        self._n_characters = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if isinstance(line, RowProblem):
            self._faults.append(line)
            return "\n"  # keeps its place, so that the numbers of the others stay right
        self._n_characters += len(line[1])
        if self._n_characters > source_files.MAX_LINE_BYTES:
            self._faults.append(source_files.too_long_problem(str(line[0]), "the row that ends here"))
            raise StopIteration
        return line[1]

    def taken(self) -> list[RowProblem]:
        """Called at the end of each row: a row of open quotes may go on for ever."""
        faults, self._faults, self._n_characters = self._faults, [], 0
        return faults


def _wrong_header(header: list[str], delimiter: str) -> list[RowProblem]:
    if not any(header):
        return [RowProblem("1", "", "there is no header line", "Write a header line and a row per answer.")]
    if doubled := sorted({name for name in header if header.count(name) > 1}):
        names = ", ".join(doubled) or "a column without a name"
        return [RowProblem("1", names, "stands in the header twice", "Give every column its own name.")]
    other = {";": "semicolons", "\t": "tabs", ",": "commas"}
    for sign, called in other.items():
        if len(header) == 1 and sign != delimiter and sign in header[0]:
            remedy = f"Save it with {other[delimiter]} between its cells" + (
                ", or import it as tsv." if sign == "\t" else "."
            )
            return [RowProblem("1", "", f"the header's cells are separated by {called}", remedy)]
    return []
