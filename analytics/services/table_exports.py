"""An export as the tables of a release, without what makes a release one: no lock, no card, no promise.

All that is read is of one transaction, so the line of a release is drawn around what that sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.db import connection

from analytics.records.items import TEXTS
from analytics.releases import horizon, tables
from analytics.releases.configs import CONFIGS, Config
from analytics.releases.tables import OnRows
from analytics.services.manifest import Tally
from annotation.models import ItemVersion, Study

# Which columns name an item's version, in the tables that list versions.
_VERSIONS = {"items": ("item", "version"), "candidates": ("item", "item_version")}


def write(
    study: Study, folder: Path, *, texts: str, tally: Tally, on_progress: OnRows | None
) -> dict[str, dict[str, Any]]:
    """TABLE.parquet of every table that has rows; sizes and hashes by name. Inside `one_moment`.

    `on_progress` hears how many rows are written so far. Memory: that of a release.
    """
    params = {**horizon.in_sight(study).params(study), "audio": ""}
    done = 0

    def count(n: int) -> None:
        nonlocal done
        done += n
        if on_progress is not None:
            on_progress(done)

    files: dict[str, dict[str, Any]] = {}
    for name, config in CONFIGS.items():
        path = folder / f"{name}.parquet"
        select = _of_texts(study, name, config, texts)
        written = tables.write(
            select, params, config.columns, parquet=path, on_rows=count, changes=config.changes
        )
        for file in written:
            files[path.name] = {"bytes": file.bytes, "sha256": file.sha256}
            _COUNTS[name](tally, path)
    return files


def _of_texts(study: Study, name: str, config: Config, texts: str) -> str:
    """The table's statement, of the versions asked for alone, in the same order."""
    if texts == "both" or name not in _VERSIONS:
        return config.select
    versions = ItemVersion.objects.filter(item__study=study, **TEXTS[texts])
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


def _judgments(tally: Tally, path: Path) -> None:
    """Rows are answers; those of one judgment stand together."""
    last = None
    names = ("judgment", "rater", "origin", "question", "counted", "excluded", "surplus")
    for rows in _groups(path, *names):
        name = rows["judgment"].combine_chunks()
        before = pa.concat_arrays([pa.array([last], pa.string()), name[:-1]])
        last = name[-1].as_py()
        said = rows.filter(pc.fill_null(pc.not_equal(name, before), True))
        tally.raters.update(rater for rater in said["rater"].unique().to_pylist() if rater)
        tally.counts.update(
            judgments=len(said),
            answers=len(rows) - rows["question"].null_count,
            standing=_true(said["counted"]),
            excluded=_true(said["excluded"]),
            surplus=_true(said["surplus"]),
            by_unnamed_raters=said["rater"].null_count,
            by_experts=_true(pc.equal(said["origin"], "expert")),
        )


def _items(tally: Tally, path: Path) -> None:
    for rows in _groups(path, "current", "retracted"):
        tally.counts.update(
            items=len(rows) if tally.texts == "original" else _true(rows["current"]),
            item_versions=len(rows),
            item_versions_retracted=_true(rows["retracted"]),
        )


def _candidates(tally: Tally, path: Path) -> None:
    tally.counts.update(candidates=pq.read_metadata(path).num_rows)


def _checks(tally: Tally, path: Path) -> None:
    for rows in _groups(path, "passed"):
        tally.counts.update(checks=len(rows), checks_passed=_true(rows["passed"]))


def _corrections(tally: Tally, path: Path) -> None:
    for rows in _groups(path, "undone"):
        tally.counts.update(corrections=len(rows), corrections_undone=_true(rows["undone"]))


def _cases(tally: Tally, path: Path) -> None:
    for rows in _groups(path, "state"):
        tally.counts.update(cases=len(rows), cases_decided=_true(pc.equal(rows["state"], "resolved")))


def _nothing(tally: Tally, path: Path) -> None: ...


_COUNTS = {
    "judgments": _judgments,
    "items": _items,
    "candidates": _candidates,
    "checks": _checks,
    "corrections": _corrections,
    "cases": _cases,
    "listening": _nothing,
    "raters": _nothing,
}


def _groups(path: Path, *columns: str) -> Iterator[pa.Table]:
    """Some columns of a file, a group of rows at a time."""
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns=list(columns), use_threads=False)


def _true(values: pa.ChunkedArray) -> int:
    return pc.sum(values).as_py() or 0
