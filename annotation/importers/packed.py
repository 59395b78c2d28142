"""Sounds inside Parquet files, read one by one: a file of many sounds is larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from annotation.audio.errors import AudioError
from annotation.importers import parquet_rows
from annotation.importers.records import PackedAudio

BATCH_ROWS = 4
# What one column of a group of rows may hold: a reader may have to unpack all of it at once.
LARGEST_CHUNK = 1 << 30
# Columns of sounds are read side by side; a source of many files is read file after file.
MAX_OPEN = 8
AGAIN = "Write or copy the file again; it may have been cut off on its way."
SMALLER = "Write it with smaller row groups (row_group_size=100)."


class Unpacker:
    """Gives the bytes of packed sounds. It reads forward, so ask in the order of their rows."""

    def __init__(self) -> None:
        self._open: dict[tuple[Path, str], _Column] = {}

    def read(self, wanted: PackedAudio) -> bytes:
        """Raises AudioError `missing` for a sound that is not there or cannot be read."""
        import pyarrow as pa

        try:
            return self._column(wanted).at(wanted)
        except (pa.ArrowException, OSError) as error:
            self._open.pop((wanted.file, wanted.column), None)
            raise AudioError("missing", f"{wanted.name} cannot be read ({error}).", AGAIN) from None

    def _column(self, wanted: PackedAudio) -> _Column:
        key = (wanted.file, wanted.column)
        found = self._open.pop(key, None) or _Column(wanted.file, wanted.column)
        self._open[key] = found  # the last used stands last
        if len(self._open) > MAX_OPEN:
            del self._open[next(iter(self._open))]
        return found


class _Column:
    """One column of sounds, and where in it the reader stands."""

    def __init__(self, path: Path, column: str) -> None:
        self._file = parquet_rows.opened(path)
        self._leaf = f"{column}.bytes"
        groups = range(self._file.metadata.num_row_groups)
        sizes = [self._file.metadata.row_group(number).num_rows for number in groups]
        self._starts = [0, *accumulate(sizes)]
        self._column = column
        self._batches: Iterator[Any] = iter(())
        self._held: list[bytes | None] = []
        self._first = self._group_end = 0

    def at(self, wanted: PackedAudio) -> bytes:
        row = wanted.row
        if not 0 <= row < self._starts[-1]:
            raise AudioError("missing", f"{wanted.name} is not there: the file has fewer rows.", AGAIN)
        if row < self._first or row >= self._group_end:
            self._begin_group_of(row, wanted)
        while row >= self._first + len(self._held):
            self._first += len(self._held)
            self._held = next(self._batches).column(self._column).field("bytes").to_pylist()
        sound = self._held[row - self._first]
        if not sound:
            raise AudioError(
                "missing", f"{wanted.name} holds no sound.", "Leave the row out, or add the sound."
            )
        return sound

    def _begin_group_of(self, row: int, wanted: PackedAudio) -> None:
        group = next(number for number, start in enumerate(self._starts) if start > row) - 1
        held = self._file.metadata.row_group(group)
        for place in range(held.num_columns):
            chunk = held.column(place)
            if chunk.path_in_schema == self._leaf and chunk.total_uncompressed_size > LARGEST_CHUNK:
                size = f"{chunk.total_uncompressed_size / 1e9:.1f} GB"
                raise AudioError("missing", f"{wanted.name} lies among {size} of sounds.", SMALLER)
        self._batches = self._file.iter_batches(
            BATCH_ROWS, row_groups=[group], columns=[self._leaf], use_threads=False
        )
        self._held, self._first, self._group_end = [], self._starts[group], self._starts[group + 1]
