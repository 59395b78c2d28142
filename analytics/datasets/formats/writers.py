"""Rows into files and out again: Parquet, JSON lines, one JSON object by id, CSV. Equal rows give equal bytes."""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analytics.datasets.formats.contract import Column, Row
from annotation.csv_escaping import escape_formula, unescape_formula

BATCH = 10_000


class Writer(ABC):
    """A file being written. `rows` counts them."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self.columns, self.rows = columns, 0
        self._open(path)

    def write(self, row: Row) -> None:
        self._write(row)
        self.rows += 1

    @abstractmethod
    def _open(self, path: Path) -> None: ...

    @abstractmethod
    def _write(self, row: Row) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class JsonLinesWriter(Writer):
    def _open(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def _write(self, row: Row) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()


class JsonByIdWriter(JsonLinesWriter):
    """One object, an entry per row, under the row's id."""

    def _write(self, row: Row) -> None:
        entry = {name: value for name, value in row.items() if name != "id"}
        text = f"{json.dumps(row['id'], ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False)}"
        self._file.write(("," if self.rows else "{") + "\n" + text)

    def close(self) -> None:
        self._file.write("\n}\n" if self.rows else "{}\n")
        super().close()


class CsvWriter(Writer):
    def _open(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        # Ends of line as in RFC 4180; with another, the writer leaves a lone carriage return in a cell unquoted.
        self._csv = csv.writer(self._file, lineterminator="\r\n")
        self._csv.writerow(column.name for column in self.columns)

    def _write(self, row: Row) -> None:
        cells = (row[column.name] for column in self.columns)
        self._csv.writerow(escape_formula(cell) if isinstance(cell, str) else cell for cell in cells)

    def close(self) -> None:
        self._file.close()


class ParquetWriter(Writer):
    def _open(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([(column.name, _arrow_type(column.kind)) for column in self.columns])
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[Row] = []

    def _write(self, row: Row) -> None:
        self._waiting.append(row)
        if len(self._waiting) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._file.write_table(pa.Table.from_pylist(self._waiting, schema=self._file.schema))
        self._waiting = []

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._file.close()


WRITERS: dict[str, type[Writer]] = {
    "parquet": ParquetWriter,
    "jsonl": JsonLinesWriter,
    "json": JsonByIdWriter,
    "csv": CsvWriter,
}


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """What such a file holds, in these of its columns at least."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=list(columns)):
            yield from batch.to_pylist()
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
    elif path.suffix == ".json":
        entries = json.loads(path.read_text(encoding="utf-8"))
        yield from ({"id": name, **entry} for name, entry in entries.items())
    else:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield {name: unescape_formula(cell) for name, cell in row.items()}


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    scored = [("scorer", pa.string()), ("output", pa.string())]
    return {
        "string": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "strings": pa.list_(pa.string()),
        "floats": pa.list_(pa.float64()),
        "scores": pa.list_(
            pa.struct([*scored, *((name, pa.float64()) for name in ("a", "b", "a_b", "b_a"))])
        ),
        "own_scores": pa.list_(pa.struct([*scored, ("value", pa.float64())])),
    }[kind]
