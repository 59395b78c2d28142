"""The rows of one statement on their way into Parquet and JSON Lines, a block at a time.

A block is a fixed number of rows, or of bytes where rows are large: blocks are the row groups of the Parquet file, so
where they end must follow from the data alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.db import connection
from pyarrow import csv

from analytics.releases import columns as cells
from analytics.releases.columns import Column
from analytics.releases.json_lines import json_lines

BLOCK_ROWS = 32_768
BLOCK_BYTES = 32 * 1024 * 1024

# How cells are written, and room to sort and join whole tables in: a session's own settings are for small questions.
SETTINGS = (
    "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL extra_float_digits = 1; "
    "SET LOCAL work_mem = '32MB'"
)

OnRows = Callable[[int], None]
# Cells that are to be changed before they are written: a function per column, over its values.
Changes = Mapping[str, Callable[[str], str]]


@dataclass(frozen=True)
class Written:
    """A file of a release: its size, its hash, and how many rows it has (None where it has none)."""

    bytes: int
    sha256: str
    rows: int | None = None


def blocks(select: str, params: Mapping[str, Any]) -> Iterator[bytes]:
    """The rows of a SELECT as CSV, in whole rows. Memory: one block."""
    # COPY takes no parameters from outside, so they are written into it.
    copying = f"COPY ({select}) TO STDOUT (FORMAT csv)"
    statement = connection.ops.compose_sql(copying, params)  # type: ignore[attr-defined]  # PostgreSQL's has it
    rows: list[bytes] = []
    size = 0
    with connection.cursor() as cursor:
        cursor.execute(SETTINGS)
        with connection.wrap_database_errors, cursor.copy(statement) as copy:
            for row in copy:  # the server sends a row at a time
                rows.append(bytes(row))
                size += len(row)
                if len(rows) == BLOCK_ROWS or size >= BLOCK_BYTES:
                    yield b"".join(rows)
                    rows, size = [], 0
    if rows:
        yield b"".join(rows)


def write(
    select: str,
    params: Mapping[str, Any],
    columns: Sequence[Column],
    *,
    parquet: Path,
    on_rows: OnRows,
    jsonl: Path | None = None,
    changes: Changes | None = None,
) -> list[Written]:
    """The files asked for with the statement's rows; none, and no file, where it has none. `on_rows` hears of each
    block.

    A block is written by a thread while the next one is received. Memory: these two.
    """
    pair: _Pair | None = None
    with ThreadPoolExecutor(1) as pool, ExitStack() as open_files:
        writing: Future[int] | None = None
        for block in blocks(select, params):
            pair = pair or open_files.enter_context(_Pair(parquet, jsonl, columns, changes or {}))
            if writing is not None:
                on_rows(writing.result())
            writing = pool.submit(pair.add, block)
        if writing is not None:
            on_rows(writing.result())
    if pair is None:
        return []
    return [hashed(parquet, rows=pair.n_rows), *([] if jsonl is None else [pair.lines()])]


class _Pair:
    """A Parquet file and, where one is asked for, one of JSON Lines that get the same rows."""

    def __init__(
        self, parquet: Path, jsonl: Path | None, columns: Sequence[Column], changes: Changes
    ) -> None:
        for path in (parquet, jsonl or parquet):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._columns, self._changes = columns, changes
        # What the columns are is told by Parquet's own types; a copy in Arrow's would change with Arrow.
        self._parquet = pq.ParquetWriter(
            parquet, cells.schema(columns), compression="zstd", store_schema=False
        )
        self._jsonl = jsonl.open("wb") if jsonl else None
        self._digest, self._size, self.n_rows = hashlib.sha256(), 0, 0

    def __enter__(self) -> _Pair:
        return self

    def __exit__(self, *error: object) -> None:
        self._parquet.close()
        if self._jsonl is not None:
            self._jsonl.close()

    def add(self, block: bytes) -> int:
        """How many rows the block had."""
        read = _read(block, self._columns, self._changes)
        table = cells.table(read, self._columns)
        self._parquet.write_table(table, row_group_size=len(table))
        if self._jsonl is not None:
            text = json_lines(read, self._columns)
            self._jsonl.write(text)
            self._digest.update(text)
            self._size += len(text)
        self.n_rows += len(table)
        return len(table)

    def lines(self) -> Written:
        return Written(self._size, self._digest.hexdigest(), self.n_rows)


def hashed(path: Path, *, rows: int | None = None) -> Written:
    with path.open("rb") as file:
        return Written(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest(), rows)


def _read(block: bytes, columns: Sequence[Column], changes: Changes) -> dict[str, pa.Array]:
    table = csv.read_csv(
        pa.BufferReader(block),
        read_options=csv.ReadOptions(
            column_names=[column.name for column in columns], block_size=len(block) + 1, use_threads=False
        ),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={column.name: cells.READ[column.kind] for column in columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    read = {column.name: table[column.name].combine_chunks() for column in columns}
    for name, change in changes.items():
        read[name] = pa.array(
            [value if value in (None, "{}") else change(value) for value in read[name].to_pylist()],
            pa.string(),
        )
    return read
