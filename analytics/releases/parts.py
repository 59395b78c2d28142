"""The same table of two releases side by side, a part of it at a time, so that the largest takes no more memory than a
small one.

A part is a range of the first column of the key: a row and its counterpart lie in the same one, and the parts follow
each other in the order of the key.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

# Of texts of both releases together; joining a part takes a few times as much.
PART_BYTES = 16 * 1024 * 1024
# How finely the texts are weighed to cut parts of that size.
_WEIGHT = 256 * 1024
_BATCH_ROWS = 16_384


def pairs(
    before: Path, after: Path, *, key: Sequence[str], watched: Sequence[str]
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Keys and watched columns of two Parquet files as texts, a part at a time. A file that is not there has no rows.

    Joins match no null, so what is missing is `-`, and `=` stands before the rest. Parts wait in a scratch folder.
    Memory: one part of both.
    """
    names = [*key, *watched]
    starts = _starts([path for path in (before, after) if path.exists()], key[0], names)
    with tempfile.TemporaryDirectory() as scratch:
        sides = [Path(scratch) / side for side in ("before", "after")]
        for path, folder in zip((before, after), sides, strict=True):
            folder.mkdir()
            if path.exists():
                _spread(path, folder, starts, key[0], names)
        for number in range(len(starts) + 1):
            old, new = (_part(folder / str(number), names) for folder in sides)
            yield old, new


def _starts(paths: Sequence[Path], first: str, names: Sequence[str]) -> list[str]:
    """Where each part but the first begins."""
    weighed: list[str] = []
    for path in paths:
        for texts in _texts(path, names):
            step = max(1, len(texts) * _WEIGHT // max(1, texts.nbytes))
            weighed += texts[first][step // 2 :: step].to_pylist()
    weighed.sort(key=str.encode)  # as Arrow compares
    every = PART_BYTES // _WEIGHT
    return sorted(set(weighed[every::every]), key=str.encode)


def _spread(path: Path, folder: Path, starts: Sequence[str], first: str, names: Sequence[str]) -> None:
    """Each part's rows in a file of its own."""
    schema = _schema(names)
    options = ipc.IpcWriteOptions(compression="zstd")
    with ExitStack() as open_files:
        writers: dict[int, ipc.RecordBatchStreamWriter] = {}
        for texts in _texts(path, names):
            place = pa.repeat(0, len(texts))
            for start in starts:
                place = pc.add(place, pc.cast(pc.greater_equal(texts[first], start), pa.int64()))
            for number in pc.unique(place).to_pylist():
                if number not in writers:
                    file = open_files.enter_context(pa.OSFile(str(folder / str(number)), "wb"))
                    writers[number] = open_files.enter_context(ipc.new_stream(file, schema, options=options))
                writers[number].write_table(texts.filter(pc.equal(place, number)))


def _part(path: Path, names: Sequence[str]) -> pa.Table:
    if not path.exists():
        return _schema(names).empty_table()
    with pa.OSFile(str(path)) as file, ipc.open_stream(file) as stream:
        return stream.read_all()


def _schema(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in names])


def _texts(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Never of two groups of rows at once: where rows are large, groups are short."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            asked = {"row_groups": [group], "columns": list(names), "use_threads": False}
            for batch in file.iter_batches(_BATCH_ROWS, **asked):
                texts = {name: pc.cast(batch[name], pa.string()) for name in names}
                told = {name: pc.binary_join_element_wise("=", text, "") for name, text in texts.items()}
                yield pa.table({name: pc.fill_null(cell, "-") for name, cell in told.items()})
