"""What two releases of a study do not share, row by row, and why.

Memory: a part of both releases' rows, whatever their number (`parts`), with the few columns by which they can differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analytics.releases import checking, manifest, parts
from analytics.releases.configs import CONFIGS, Config

# How many rows of each kind are named; all are counted.
EXAMPLES = 20
# Rows that are Python objects at one time.
_AT_ONCE = 4096

Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """One row: `kind` is added, removed or changed; `fields` are the columns in which it changed."""

    config: str
    kind: str
    key: Row
    why: str
    fields: tuple[str, ...] = ()


def summary(before: Path, after: Path) -> dict[str, Any]:
    """By table and kind how many rows and for which reasons, with the first few. Equal releases give no table."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    examples: list[Row] = []
    for one in differences(before, after):
        reasons = counts.setdefault(one.config, {}).setdefault(one.kind, Counter())
        reasons[one.why] += 1
        if reasons.total() <= EXAMPLES:
            shown = {"config": one.config, "kind": one.kind, "key": one.key, "why": one.why}
            examples.append({**shown, "fields": list(one.fields)})
    tables = {
        config: {
            kind: {"rows": why.total(), "why": dict(sorted(why.items()))}
            for kind, why in sorted(kinds.items())
        }
        for config, kinds in counts.items()
    }
    return {"tables": tables, "examples": examples}


def readable(found: dict[str, Any]) -> str:
    """A summary as lines of text."""
    lines = []
    for config, kinds in found["tables"].items():
        for kind, told in kinds.items():
            why = ", ".join(f"{n} {reason}" for reason, n in told["why"].items())
            lines.append(f"{config:<12} {kind:<8} {told['rows']:>8}  {why}")
    return "\n".join(lines) or "The two releases have the same rows."


def reads(path: str) -> bool:
    """Whether a file of a release is looked at here: the tables and the manifest, neither sounds nor JSON Lines."""
    return path == manifest.NAME or path.startswith("data/")


def differences(before: Path, after: Path) -> Iterator[Difference]:
    gone = _withdrawn(after) > _withdrawn(before)
    for name, config in CONFIGS.items():
        files = [folder / manifest.parquet_path(name) for folder in (before, after)]
        for old, new in parts.pairs(*files, key=config.key, watched=_watched(config)):
            yield from _of_part(name, config, old, new, gone=gone)


def _of_part(name: str, config: Config, old: pa.Table, new: pa.Table, *, gone: bool) -> Iterator[Difference]:
    joined = old.join(
        new, keys=list(config.key), join_type="full outer", left_suffix="_old", right_suffix="_new"
    )
    # A side that lacks the row has no cells: nothing equals those.
    alike = [pc.equal(joined[f"{column}_old"], joined[f"{column}_new"]) for column in _watched(config)]
    same = pc.fill_null(reduce(pc.and_, alike), False)
    other = joined.filter(pc.invert(same)).sort_by([(column, "ascending") for column in config.key])
    for batch in other.to_batches(max_chunksize=_AT_ONCE):
        for row in batch.to_pylist():
            yield _difference(name, config, row, gone=gone)


def _withdrawn(folder: Path) -> int:
    """How many raters had asked to be taken out."""
    return sum(checking.read(folder)["left_out"]["withdrawn"].values())


def _watched(config: Config) -> list[str]:
    """The columns in which a row can differ."""
    own = [column.name for column in config.columns if column.name not in config.key]
    return [name for name in own if name in (config.changing or own)]


def _told(cell: str) -> str | None:
    return cell[1:] if cell.startswith("=") else None


def _difference(name: str, config: Config, row: Row, *, gone: bool) -> Difference:
    """`gone`: raters have withdrawn in between."""
    watched = _watched(config)
    old, new = (
        None
        if row[f"{watched[0]}_{side}"] is None
        else {column: _told(row[f"{column}_{side}"]) for column in watched}
        for side in ("old", "new")
    )
    key = {column: _told(row[column]) for column in config.key}
    if old is None or new is None:
        kind = "added" if old is None else "removed"
        return Difference(name, kind, key, _REASONS[kind](name, key, new or old or {}))
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


def _removed(config: str, key: Row, row: Row) -> str:
    """Nothing is ever taken away but what a rater wished to have taken away."""
    return "rater withdrawn"


_REASONS: dict[str, Callable[[str, Row, Row], str]] = {"added": _added, "removed": _removed}


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
    return _person(old, new, fields, gone=gone)


def _person(old: Row, new: Row, fields: tuple[str, ...], *, gone: bool) -> str:
    """Why a row tells more of an expert than it did, or less."""
    told = [name for name in ("blind_judgment", "expert", "author") if name in fields]
    # The times of what was done, which are otherwise never taken back.
    times = [name for name in ("claimed_at", "decided_at", "corrected_at") if name in fields]
    if gone and any(new[name] is None for name in [*told, *times]):
        return "rater withdrawn"
    if told and old[told[0]] is None:
        return "judged blind" if told[0] == "blind_judgment" else "named: has become a rater"
    return "changed"


def as_json(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, indent=2)
