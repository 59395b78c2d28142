"""Rows of Parquet files, by batches; packed audio stays in the file until it is ingested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotation.audio.errors import AudioError
from annotation.importing.formats import json_files, source_files
from annotation.importing.records import PackedAudio, RowProblem

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


BATCH_ROWS = 1024
READ_BUFFER_BYTES = 1 << 20
# What a group of rows may unpack to, sounds left out: readers hold a good part of one.
MAX_ROW_GROUP_BYTES = 1 << 30
# What a batch of them may take in memory, were every text in it the longest that its file can hold.
MAX_BATCH_BYTES = 1 << 28
WRITE_AGAIN = "Write or copy the file again; it may have been cut off on its way."
SMALLER_ROW_GROUPS = "Write it with smaller row groups (row_group_size=10_000)."


@dataclass(frozen=True)
class _Column:
    """`leaf` is what is read of it, nothing where its cells are `instead`. `labels` are what its numbers stand for."""

    name: str
    leaf: str = ""
    instead: Any = None
    is_sound: bool = False
    labels: tuple[str, ...] = ()


def parquet_rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """A table's rows, counted from 1. Lists, objects and bytes are named as such and not read."""
    import pyarrow as pa

    n_read = 0
    try:
        with open_parquet(source) as file:
            if problem := _unusable(file):
                yield problem
                return
            for entry in _row_values(source.resolve(), file):
                n_read += 1
                yield str(n_read), entry
    except _CellTooLong as error:
        yield source_files.too_long_problem(f"{n_read + 1} to {n_read + BATCH_ROWS}", f"a cell of {error}")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        if n_read:
            reported = f"cannot be read ({said}); nothing after it was read"
            yield RowProblem(str(n_read + 1), "", reported, WRITE_AGAIN)
        else:
            yield RowProblem("", "", f"is not a whole Parquet file ({said})", _remedy(source))


def _remedy(source: Path) -> str:
    with source.open("rb") as file:
        is_pointer = file.read(24) == b"version https://git-lfs."
    return "Fetch what git left out: git lfs pull." if is_pointer else WRITE_AGAIN


def open_parquet(source: Path, **options: Any) -> pq.ParquetFile:
    """Reads column by column through small buffers, not whole groups of rows at once."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(source, pre_buffer=False, buffer_size=READ_BUFFER_BYTES, **options)


class _CellTooLong(Exception):
    """Says the column."""


def _unusable(file: pq.ParquetFile) -> RowProblem | None:
    names = file.schema_arrow.names
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        return RowProblem("", ", ".join(doubled), "is there twice", "Give every column its own name.")
    for number in range(file.metadata.num_row_groups):
        size = sum(_sizes(file, number))
        if size > MAX_ROW_GROUP_BYTES:
            problem = f"row group {number + 1} unpacks to {size / 1e9:.1f} GB"
            return RowProblem("", "", problem, SMALLER_ROW_GROUPS)
    return None


def _sizes(file: pq.ParquetFile, number: int) -> list[int]:
    """The bytes that each column that is read unpacks to in a group of rows."""
    leaves = {column.leaf for column in _columns(file)}
    return [
        chunk.total_uncompressed_size for chunk in _chunks(file, number) if chunk.path_in_schema in leaves
    ]


def _chunks(file: pq.ParquetFile, number: int) -> list[pq.ColumnChunkMetaData]:
    group = file.metadata.row_group(number)
    return [group.column(place) for place in range(group.num_columns)]


def _row_values(source: Path, file: pq.ParquetFile) -> Iterator[dict[str, Any]]:
    columns = _columns(file)
    leaves = [column.leaf for column in columns if column.leaf]
    start = 0
    for number in range(file.metadata.num_row_groups):
        # A text is kept once, however many rows it fills: each may be as long as all that its column unpacks to.
        n_rows = min(BATCH_ROWS, max(1, MAX_BATCH_BYTES // max(1, *_sizes(file, number), 1)))
        for batch in file.iter_batches(n_rows, row_groups=[number], columns=leaves, use_threads=False):
            held = {column.name: _values(source, column, batch, start) for column in columns}
            for place in range(batch.num_rows):
                yield {name: values[place] for name, values in held.items()}
            start += batch.num_rows


def _values(source: Path, column: _Column, batch: pa.RecordBatch, start: int) -> list[Any]:
    if not column.leaf:
        return [column.instead] * batch.num_rows
    array = batch.column(column.name)
    if column.is_sound:
        valid = enumerate(array.is_valid().to_pylist(), start)
        return [PackedAudio(source, row, column.name) if is_valid else None for row, is_valid in valid]
    values = _texts(column.name, array)
    if column.labels:
        n = len(column.labels)
        return [column.labels[at] if at is not None and 0 <= at < n else None for at in values]
    return values


def _texts(name: str, array: pa.Array) -> list[Any]:
    """Numbers and texts as they are, dates and the like as they are written."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        values = _texts(name, array.dictionary)
        return [None if place is None else values[place] for place in array.indices.to_pylist()]
    if pa.types.is_struct(kind):  # the path of a sound that lies beside the file
        return _texts(name, array.field("path"))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        texts: list[Any] = array.to_pylist()
        if any(text is not None and len(text) > source_files.MAX_LINE_BYTES for text in texts):
            raise _CellTooLong(name)
        return texts
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return list(array.to_pylist())
    return list(array.cast(pa.string()).to_pylist())


def _columns(file: pq.ParquetFile) -> list[_Column]:
    stated = _features(file)
    return [_column(file, field, stated.get(field.name)) for field in file.schema_arrow]


def _features(file: pq.ParquetFile) -> dict[str, Any]:
    """What Hugging Face datasets say that the columns are, beyond their types."""
    try:
        stated = json_files.parse_json((file.schema_arrow.metadata or {}).get(b"huggingface", b"{}"))
        return dict(stated["info"]["features"])
    except (KeyError, TypeError, ValueError):
        return {}


def _column(file: pq.ParquetFile, field: pa.Field, stated: Any) -> _Column:
    import pyarrow as pa

    kind, name = field.type, field.name
    feature = stated if isinstance(stated, dict) else {}
    if feature.get("_type") == "ClassLabel" and pa.types.is_integer(kind):
        return _Column(name, name, labels=tuple(map(str, feature.get("names") or ())))
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if feature.get("_type", "Audio") == "Audio" and is_audio_type(kind):
        if kind.get_field_index("path") < 0:
            return _Column(name, f"{name}.bytes", is_sound=True)
        return _Column(name, f"{name}.path", is_sound=not _is_empty(file, f"{name}.bytes"))
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return _Column(name, instead={})
    if pa.types.is_nested(kind):
        return _Column(name, instead=[])
    if pa.types.is_null(kind):
        return _Column(name)
    if _is_bytes(kind) or isinstance(kind, pa.BaseExtensionType):
        return _Column(name, instead=b"")
    return _Column(name, name)


def is_audio_type(kind: pa.DataType) -> bool:
    """Whether a column is audio as Hugging Face datasets keep it: bytes, and the name of the file they were in."""
    import pyarrow as pa

    if not pa.types.is_struct(kind):
        return False
    parts = {kind.field(place).name: kind.field(place).type for place in range(kind.num_fields)}
    return set(parts) <= {"bytes", "path"} and "bytes" in parts and _is_bytes(parts["bytes"])


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _is_empty(file: pq.ParquetFile, leaf: str) -> bool:
    """Whether nothing but nulls stand in a column, as far as the file tells without being read."""
    for number in range(file.metadata.num_row_groups):
        n_rows = file.metadata.row_group(number).num_rows
        for chunk in _chunks(file, number):
            has_values = not chunk.is_stats_set or chunk.statistics.null_count != n_rows
            if chunk.path_in_schema == leaf and has_values:
                return False
    return bool(file.metadata.num_rows > 0)


# Sounds inside Parquet files, read one by one: a file of many sounds is larger than memory.


AUDIO_BATCH_ROWS = 4
# What one column of a group of rows may hold: a reader may have to unpack all of it at once.
MAX_AUDIO_CHUNK_BYTES = 1 << 30
# Columns of sounds are read side by side; a source of many files is read file after file.
MAX_OPEN_AUDIO_COLUMNS = 8
SMALLER_AUDIO_GROUPS = "Write it with smaller row groups (row_group_size=100)."


class PackedAudioReader:
    """Gives the bytes of packed sounds. It reads forward, so ask in the order of their rows."""

    def __init__(self) -> None:
        self._open: dict[tuple[Path, str], _AudioColumn] = {}

    def read(self, packed: PackedAudio) -> bytes:
        """Raises AudioError `missing` for a sound that is not there or cannot be read."""
        import pyarrow as pa

        key = packed.file, packed.column
        try:
            column = self._open.pop(key, None) or _AudioColumn(*key)
            self._open[key] = column  # the last used stands last
            if len(self._open) > MAX_OPEN_AUDIO_COLUMNS:
                del self._open[next(iter(self._open))]
            return column.at(packed)
        except (pa.ArrowException, OSError) as error:
            self._open.pop(key, None)
            raise AudioError("missing", f"{packed.name} cannot be read ({error}).", WRITE_AGAIN) from None


class _AudioColumn:
    """One column of sounds, and where in it the reader stands."""

    def __init__(self, path: Path, column: str) -> None:
        self._file = open_parquet(path)
        self._leaf = f"{column}.bytes"
        groups = range(self._file.metadata.num_row_groups)
        sizes = [self._file.metadata.row_group(number).num_rows for number in groups]
        self._starts = [0, *accumulate(sizes)]
        self._column = column
        self._batches: Iterator[Any] = iter(())
        self._held: list[bytes | None] = []
        self._first = self._group_end = 0

    def at(self, packed: PackedAudio) -> bytes:
        row = packed.row
        if not 0 <= row < self._starts[-1]:
            raise AudioError("missing", f"{packed.name} is not there: the file has fewer rows.", WRITE_AGAIN)
        if row < self._first or row >= self._group_end:
            self._begin_group_of(row, packed)
        while row >= self._first + len(self._held):
            self._first += len(self._held)
            self._held = next(self._batches).column(self._column).field("bytes").to_pylist()
        sound = self._held[row - self._first]
        if not sound:
            remedy = "Leave the row out, or add the sound."
            raise AudioError("missing", f"{packed.name} holds no sound.", remedy)
        return sound

    def _begin_group_of(self, row: int, packed: PackedAudio) -> None:
        group = next(number for number, start in enumerate(self._starts) if start > row) - 1
        for chunk in _chunks(self._file, group):
            if chunk.path_in_schema == self._leaf and chunk.total_uncompressed_size > MAX_AUDIO_CHUNK_BYTES:
                message = f"{packed.name} lies among {chunk.total_uncompressed_size / 1e9:.1f} GB of sounds."
                raise AudioError("missing", message, SMALLER_AUDIO_GROUPS)
        self._batches = self._file.iter_batches(
            AUDIO_BATCH_ROWS, row_groups=[group], columns=[self._leaf], use_threads=False
        )
        self._held, self._first, self._group_end = [], self._starts[group], self._starts[group + 1]
