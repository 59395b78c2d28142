"""Reading source files so that every fault is a row problem with a remedy."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from annotation.importers.records import RowProblem

UTF8 = "Save the file as UTF-8 and import it again."


def lines(path: Path) -> Iterator[tuple[int, str] | RowProblem]:
    """Numbered lines of a UTF-8 file (a byte order mark is fine); a line in another encoding is a problem."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                yield RowProblem(
                    str(number),
                    "",
                    f"is not UTF-8 (byte {error.start + 1} of the line, 0x{raw[error.start]:02x})",
                    UTF8,
                )


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """The objects of a JSONL file by line number; blank lines are passed over."""
    for line in lines(path):
        if isinstance(line, RowProblem):
            yield line
            continue
        number, text = line
        if not text.strip():
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            yield RowProblem(str(number), "", f"is not JSON: {error}", "Write one JSON object per line.")
            continue
        if isinstance(value, dict):
            yield str(number), value
        else:
            yield RowProblem(
                str(number), "", "is not a JSON object", 'Write {"column": value, …} on each line.'
            )


def beside(folder: Path, name: str, *, row: str, field: str) -> Path | RowProblem:
    """The file `name` below `folder`. Paths that leave the folder are refused, whatever is there."""
    if "\0" in name:
        return RowProblem(row, field, "holds a zero byte", "Mend the path.")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        return RowProblem(
            row, field, f"{name} is outside the source's folder", "Use a path below the source file."
        )
    if not path.is_file():
        return RowProblem(
            row, field, f"{name} is not there", f"Put the file at {name} beside the source, or mend the path."
        )
    return path


def any_beside(folder: Path, names: Iterable[str]) -> bool:
    """Whether a release that comes without its sounds has been given some of them."""
    return any(isinstance(beside(folder, name, row="", field=""), Path) for name in names)


def csv_rows(source: Path, *, delimiter: str = ",") -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """The rows below a header by the number of their last line."""
    unreadable: dict[int, RowProblem] = {}

    def text() -> Iterator[str]:
        for number, line in enumerate(lines(source), 1):
            if isinstance(line, RowProblem):
                unreadable[number] = line
            # A line that cannot be read keeps its place, so that the numbers of the others stay right.
            yield "\n" if isinstance(line, RowProblem) else line[1]

    reader = csv.reader(text(), strict=True, delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not header:
            yield RowProblem("1", "", "there is no header line", "Write a header line and a row per answer.")
            return
        if doubled := sorted({name for name in header if header.count(name) > 1}):
            yield RowProblem(
                "1", ", ".join(doubled), "stands in the header twice", "Give every column its own name."
            )
            return
        last = reader.line_num
        for cells in reader:
            row, first, last = str(reader.line_num), last + 1, reader.line_num
            if any(number in unreadable for number in range(first, last + 1)):
                continue  # reported below; what is left of the row is not what was written
            if len(cells) == len(header):
                yield row, dict(zip(header, cells, strict=True))
            elif any(cells):
                problem = f"has {len(cells)} cells, the header has {len(header)}"
                yield RowProblem(row, "", problem, "Quote cells that hold commas.")
    except csv.Error as error:
        yield RowProblem(
            str(reader.line_num),
            "",
            f"is not CSV: {error}; nothing after it was read",
            "Quote cells that hold quotes or line breaks.",
        )
    yield from unreadable.values()
