"""What two releases of a study do not share, row by row, and why.

Memory: a part of both releases' rows, whatever their number (`diff`), with the few columns by which they can differ.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from analytics.datasets import release_manifest
from analytics.datasets.release_tables import RELEASE_TABLES, ReleaseTable
from analytics.datasets.storage import MANIFEST_NAME

# The same table of two releases side by side, a part of it at a time, so that the largest takes no more
# memory than a small one. A part is a range of the first column of the key: a row and its counterpart lie
# in the same one, and the parts follow each other in the order of the key.


# Of texts of both releases together; joining a part takes a few times as much.
PART_BYTES = 16 * 1024 * 1024
# How finely the texts are weighed to cut parts of that size.
_WEIGHT = 256 * 1024
_BATCH_ROWS = 16_384


def table_parts(
    before: Path, after: Path, *, key: Sequence[str], watched: Sequence[str]
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Keys and watched columns of two Parquet files as texts, a part at a time. A file that is not there has no rows.

    Joins match no null, so what is missing is `-`, and `=` stands before the rest. Parts wait in a scratch folder.
    Memory: one part of both.
    """
    names = [*key, *watched]
    schema = pa.schema([(name, pa.string()) for name in names])
    starts = _part_starts([path for path in (before, after) if path.exists()], key[0], names)
    with tempfile.TemporaryDirectory() as scratch:
        sides = [Path(scratch) / side for side in ("before", "after")]
        for path, folder in zip((before, after), sides, strict=True):
            folder.mkdir()
            if path.exists():
                _partition(path, folder, starts, key[0], schema)
        for number in range(len(starts) + 1):
            old, new = (_part(folder / str(number), schema) for folder in sides)
            yield old, new


def _part_starts(paths: Sequence[Path], first: str, names: Sequence[str]) -> list[str]:
    """Where each part but the first begins."""
    weighed: list[str] = []
    for path in paths:
        for texts in _text_batches(path, names):
            step = max(1, len(texts) * _WEIGHT // max(1, texts.nbytes))
            weighed += texts[first][step // 2 :: step].to_pylist()
    weighed.sort(key=str.encode)  # as Arrow compares
    every = PART_BYTES // _WEIGHT
    return sorted(set(weighed[every::every]), key=str.encode)


def _partition(path: Path, folder: Path, starts: Sequence[str], first: str, schema: pa.Schema) -> None:
    """Each part's rows in a file of its own."""
    options = ipc.IpcWriteOptions(compression="zstd")
    with ExitStack() as open_files:
        writers: dict[int, ipc.RecordBatchStreamWriter] = {}
        for texts in _text_batches(path, schema.names):
            place = pa.repeat(0, len(texts))
            for start in starts:
                place = pc.add(place, pc.cast(pc.greater_equal(texts[first], start), pa.int64()))
            for number in pc.unique(place).to_pylist():
                if number not in writers:
                    file = open_files.enter_context(pa.OSFile(str(folder / str(number)), "wb"))
                    writers[number] = open_files.enter_context(ipc.new_stream(file, schema, options=options))
                writers[number].write_table(texts.filter(pc.equal(place, number)))


def _part(path: Path, schema: pa.Schema) -> pa.Table:
    if not path.exists():
        return schema.empty_table()
    with pa.OSFile(str(path)) as file, ipc.open_stream(file) as stream:
        return stream.read_all()


def _text_batches(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    """Never of two groups of rows at once: where rows are large, groups are short."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            options = {"row_groups": [group], "columns": list(names), "use_threads": False}
            for batch in file.iter_batches(_BATCH_ROWS, **options):
                texts = {name: pc.cast(batch[name], pa.string()) for name in names}
                cells = {name: pc.binary_join_element_wise("=", text, "") for name, text in texts.items()}
                yield pa.table({name: pc.fill_null(cell, "-") for name, cell in cells.items()})


# How many rows of each kind are named; all are counted.
EXAMPLES = 20
# Rows that are Python objects at one time.
_ROWS_AT_ONCE = 4096

Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """One row: `kind` is added, removed or changed; `fields` are the columns in which it changed."""

    config: str
    kind: str
    key: Row
    why: str
    fields: tuple[str, ...] = ()


def diff_summary(before: Path, after: Path) -> dict[str, Any]:
    """By table and kind how many rows and for which reasons, with the first few. Equal releases give no table."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    examples: list[Row] = []
    for one in differences(before, after):
        reasons = counts.setdefault(one.config, {}).setdefault(one.kind, Counter())
        reasons[one.why] += 1
        if reasons.total() <= EXAMPLES:
            examples.append({**asdict(one), "fields": list(one.fields)})
    tables = {
        config: {
            kind: {"rows": why.total(), "why": dict(sorted(why.items()))}
            for kind, why in sorted(kinds.items())
        }
        for config, kinds in counts.items()
    }
    return {"tables": tables, "examples": examples}


def diff_text(summary: dict[str, Any]) -> str:
    """A summary as lines of text."""
    lines = []
    for config, kinds in summary["tables"].items():
        for kind, change in kinds.items():
            why = ", ".join(f"{n} {reason}" for reason, n in change["why"].items())
            lines.append(f"{config:<12} {kind:<8} {change['rows']:>8}  {why}")
    return "\n".join(lines) or "The two releases have the same rows."


def is_compared_file(path: str) -> bool:
    """Whether a file of a release is looked at here: the tables and the manifest, neither sounds nor JSON Lines."""
    return path == MANIFEST_NAME or path.startswith("data/")


def differences(before: Path, after: Path) -> Iterator[Difference]:
    gone = _withdrawn(after) > _withdrawn(before)
    for name, config in RELEASE_TABLES.items():
        files = [folder / release_manifest.parquet_path(name) for folder in (before, after)]
        for old, new in table_parts(*files, key=config.key, watched=_compared_columns(config)):
            yield from _of_part(name, config, old, new, gone=gone)


def _of_part(
    name: str, config: ReleaseTable, old: pa.Table, new: pa.Table, *, gone: bool
) -> Iterator[Difference]:
    joined = old.join(
        new, keys=list(config.key), join_type="full outer", left_suffix="_old", right_suffix="_new"
    )
    # A side that lacks the row has no cells: nothing equals those.
    alike = [
        pc.equal(joined[f"{column}_old"], joined[f"{column}_new"]) for column in _compared_columns(config)
    ]
    same = pc.fill_null(reduce(pc.and_, alike), False)
    other = joined.filter(pc.invert(same)).sort_by([(column, "ascending") for column in config.key])
    for batch in other.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            yield _difference(name, config, row, gone=gone)


def _withdrawn(folder: Path) -> int:
    """How many raters had asked to be taken out."""
    return sum(release_manifest.read_manifest(folder)["left_out"]["withdrawn"].values())


def _compared_columns(config: ReleaseTable) -> list[str]:
    """The columns in which a row can differ."""
    own = [column.name for column in config.columns if column.name not in config.key]
    return [name for name in own if name in (config.changing or own)]


def _cell_value(cell: str) -> str | None:
    return cell[1:] if cell.startswith("=") else None


def _difference(name: str, config: ReleaseTable, row: Row, *, gone: bool) -> Difference:
    """`gone`: raters have withdrawn in between."""
    watched = _compared_columns(config)
    old, new = (
        None
        if row[f"{watched[0]}_{side}"] is None
        else {column: _cell_value(row[f"{column}_{side}"]) for column in watched}
        for side in ("old", "new")
    )
    key = {column: _cell_value(row[column]) for column in config.key}
    if new is None:
        # Nothing is ever taken away but what a rater wished to have taken away.
        return Difference(name, "removed", key, "rater withdrawn")
    if old is None:
        return Difference(name, "added", key, _added(name, key, new))
    fields = tuple(column for column in watched if old[column] != new[column])
    return Difference(name, "changed", key, _changed(name, old, new, fields, gone=gone), fields)


def _added(config: str, key: Row, row: Row) -> str:
    if config == "judgments":
        if row["exclusion_reason"] == "rater_withdrawn":
            return "rater anonymised"
        if row["revision"] != "1":
            return "revision"
        return {"imported": "imported", "expert": "expert's own"}.get(str(row["origin"]), "new vote")
    if config == "items" and key["version"] != "1":
        return "item corrected"
    if config == "candidates" and row["carried_from"] is not None:
        return "carried over to a corrected item"
    return "new"


def _changed(config: str, old: Row, new: Row, fields: tuple[str, ...], *, gone: bool) -> str:
    if config == "judgments":
        if "excluded" in fields:
            return "restored" if new["excluded"] == "false" else f"excluded: {new['exclusion_reason'] or ''}"
        return "revised" if "effective" in fields else "another reason to exclude"
    if config == "items":
        for field, why in (("retracted", "correction undone"), ("state", f"item {new['state']}")):
            if field in fields:
                return why
        return "another version is current" if "current" in fields else "changed"
    if config == "corrections" and "undone" in fields:
        return "correction undone"
    if config == "raters":
        return "counts of their judgments"
    if config == "cases" and "state" in fields:
        return f"case {new['state']}"
    return _expert_change(old, new, fields, gone=gone)


def _expert_change(old: Row, new: Row, fields: tuple[str, ...], *, gone: bool) -> str:
    """Why a row tells more of an expert than it did, or less."""
    names = [name for name in ("blind_judgment", "expert", "author") if name in fields]
    # The times of what was done, which are otherwise never taken back.
    times = [name for name in ("claimed_at", "decided_at", "corrected_at") if name in fields]
    if gone and any(new[name] is None for name in [*names, *times]):
        return "rater withdrawn"
    if names and old[names[0]] is None:
        return "judged blind" if names[0] == "blind_judgment" else "named: has become a rater"
    return "changed"
