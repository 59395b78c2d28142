"""An export as the tables of a release, without what makes a release one: no lock, no card, no promise.

All that is read is of one transaction, so the line of a release is drawn around what that sees.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.core.files.storage import default_storage
from django.db import connection

from analytics.data.postgres import consistent_snapshot
from analytics.datasets import columnar, release_manifest, snapshot, snapshot_sql
from analytics.datasets.columnar import OnRows, WrittenFile
from analytics.datasets.item_records import TEXT_VERSIONS
from analytics.datasets.manifest import RecordCounts
from analytics.datasets.release_tables import RELEASE_TABLES, ReleaseTable
from analytics.datasets.snapshot import StudySnapshot
from annotation.errors import Conflict, InvalidInput
from annotation.models import ItemVersion, Study

# All files of a release, from a cut.


_CHUNK = 1024 * 1024


def write_release(
    cut: StudySnapshot, study: Study, *, out: Path, on_rows: OnRows = lambda n: None
) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all. Equal cuts of equal data by equal code give equal bytes, whatever has
    been added to the data since. `on_rows` hears of rows written, inside the transaction that reads them.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(
            f"{out} is there already and not an empty folder; name one that is empty or not there yet.",
            code="not_empty",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        made = _fill(partial, cut, study, on_rows)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return made


def _fill(folder: Path, cut: StudySnapshot, study: Study, on_rows: OnRows) -> dict[str, Any]:
    params = {**cut.horizon.params(study), "audio": cut.wishes.audio}
    files: dict[str, WrittenFile] = {}
    with consistent_snapshot():
        for name, config in RELEASE_TABLES.items():
            paths = release_manifest.parquet_path(name), release_manifest.jsonl_path(name)
            written = columnar.write_table(
                config.select,
                params,
                config.columns,
                parquet=folder / paths[0],
                jsonl=folder / paths[1],
                on_rows=on_rows,
                changes=config.changes,
            )
            if written:
                files |= dict(zip(paths, written, strict=True))
        files |= _audio(folder, cut, study, params, on_rows)
        left_out = release_manifest.left_out(study, cut)
        texts: dict[str, Callable[[], str]] = {
            release_manifest.CARD_NAME: lambda: release_manifest.release_card(cut, files, left_out),
            release_manifest.CROISSANT_NAME: lambda: release_manifest.croissant_text(cut, files),
        }
        for name, text in {name: make() for name, make in texts.items()}.items():
            (folder / name).write_text(text, encoding="utf-8")
            files[name] = columnar.hashed_file(folder / name)
        made = release_manifest.release_manifest(study, cut, dict(sorted(files.items())), left_out)
    (folder / release_manifest.MANIFEST_NAME).write_text(
        release_manifest.manifest_text(made), encoding="utf-8"
    )
    return made


def _audio(
    folder: Path, cut: StudySnapshot, study: Study, params: dict[str, Any], on_rows: OnRows
) -> dict[str, WrittenFile]:
    """The clips, each under the hash that its rows name it by."""
    if not cut.wishes.audio:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(snapshot_sql.AUDIO_FILES, params)
        sounds = cursor.fetchall()
    (folder / "audio").mkdir()
    found: dict[str, WrittenFile] = {}
    for path, stored, digest in sounds:
        found[path] = _copied(stored, folder / path, digest)
        on_rows(1)
    return found


def _copied(stored: str, target: Path, expected: str) -> WrittenFile:
    """Raises Conflict for a sound that is not there, or not what it was."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for chunk in _chunks(stored):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != expected:
        raise _damaged(stored, "is not what its name says: it was altered or cut short")
    return WrittenFile(target.stat().st_size, expected)


def _chunks(stored: str) -> Iterator[bytes]:
    try:
        with default_storage.open(stored) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise _damaged(stored, f"cannot be read ({type(error).__name__})") from error


def _damaged(stored: str, how: str) -> Conflict:
    return Conflict(
        f"The stored file {stored} {how}. Restore it from a backup, or make the release without audio.",
        code="damaged_clip",
    )


# Which columns name an item's version, in the tables that list versions.
_VERSIONS = {"items": ("item", "version"), "candidates": ("item", "item_version")}


def write_export_tables(
    study: Study, folder: Path, *, texts: str, tally: RecordCounts, on_progress: OnRows | None
) -> dict[str, dict[str, Any]]:
    """TABLE.parquet of every table that has rows; sizes and hashes by name. Inside `one_moment`.

    `on_progress` hears how many rows are written so far. Memory: that of a release.
    """
    params = {**snapshot.visible_bounds(study).params(study), "audio": ""}
    done = 0

    def count(n: int) -> None:
        nonlocal done
        done += n
        if on_progress is not None:
            on_progress(done)

    files: dict[str, dict[str, Any]] = {}
    for name, config in RELEASE_TABLES.items():
        path = folder / f"{name}.parquet"
        select = _of_texts(study, name, config, texts)
        written = columnar.write_table(
            select, params, config.columns, parquet=path, on_rows=count, changes=config.changes
        )
        for file in written:
            files[path.name] = {"bytes": file.bytes, "sha256": file.sha256}
            _COUNTS[name](tally, path)
    return files


def _of_texts(study: Study, name: str, config: ReleaseTable, texts: str) -> str:
    """The table's statement, of the versions asked for alone, in the same order."""
    if texts == "both" or name not in _VERSIONS:
        return config.select
    versions = ItemVersion.objects.filter(item__study=study, **TEXT_VERSIONS[texts])
    asked, values = versions.values_list("item__external_id", "number").query.sql_with_params()
    wanted = str(connection.ops.compose_sql(asked, values)).replace("%", "%%")  # type: ignore[attr-defined]
    columns = ", ".join(f'"{column.name}"' for column in config.columns)
    item, version = _VERSIONS[name]
    return f"""
        SELECT {columns} FROM (
            SELECT *, row_number() OVER () AS place_in_all FROM ({config.select}) AS all_of_it ({columns})
        ) AS placed
        WHERE ("{item}", "{version}") IN ({wanted}) ORDER BY place_in_all
    """


def _count_judgments(tally: RecordCounts, path: Path) -> None:
    """Rows are answers; those of one judgment stand together."""
    last = None
    names = ("judgment", "rater", "origin", "question", "counted", "excluded", "surplus")
    for rows in _row_groups(path, *names):
        name = rows["judgment"].combine_chunks()
        before = pa.concat_arrays([pa.array([last], pa.string()), name[:-1]])
        last = name[-1].as_py()
        said = rows.filter(pc.fill_null(pc.not_equal(name, before), True))
        tally.raters.update(rater for rater in said["rater"].unique().to_pylist() if rater)
        tally.counts.update(
            judgments=len(said),
            answers=len(rows) - rows["question"].null_count,
            standing=_count_true(said["counted"]),
            excluded=_count_true(said["excluded"]),
            surplus=_count_true(said["surplus"]),
            by_unnamed_raters=said["rater"].null_count,
            by_experts=_count_true(pc.equal(said["origin"], "expert")),
        )


def _count_items(tally: RecordCounts, path: Path) -> None:
    for rows in _row_groups(path, "current", "retracted"):
        tally.counts.update(
            items=len(rows) if tally.texts == "original" else _count_true(rows["current"]),
            item_versions=len(rows),
            item_versions_retracted=_count_true(rows["retracted"]),
        )


def _count_candidates(tally: RecordCounts, path: Path) -> None:
    tally.counts.update(candidates=pq.read_metadata(path).num_rows)


def _count_checks(tally: RecordCounts, path: Path) -> None:
    for rows in _row_groups(path, "passed"):
        tally.counts.update(checks=len(rows), checks_passed=_count_true(rows["passed"]))


def _count_corrections(tally: RecordCounts, path: Path) -> None:
    for rows in _row_groups(path, "undone"):
        tally.counts.update(corrections=len(rows), corrections_undone=_count_true(rows["undone"]))


def _count_cases(tally: RecordCounts, path: Path) -> None:
    for rows in _row_groups(path, "state"):
        tally.counts.update(cases=len(rows), cases_decided=_count_true(pc.equal(rows["state"], "resolved")))


def _count_nothing(tally: RecordCounts, path: Path) -> None: ...


_COUNTS = {
    "judgments": _count_judgments,
    "items": _count_items,
    "candidates": _count_candidates,
    "checks": _count_checks,
    "corrections": _count_corrections,
    "cases": _count_cases,
    "listening": _count_nothing,
    "raters": _count_nothing,
}


def _row_groups(path: Path, *columns: str) -> Iterator[pa.Table]:
    """Some columns of a file, a group of rows at a time."""
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns=list(columns), use_threads=False)


def _count_true(values: pa.ChunkedArray) -> int:
    return pc.sum(values).as_py() or 0
