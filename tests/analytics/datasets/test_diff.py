"""What is told of two releases, from tables made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analytics.datasets import columnar, diff
from analytics.datasets.release_manifest import parquet_path
from analytics.datasets.release_tables import RELEASE_TABLES


@pytest.fixture
def released(tmp_path):
    """A release with some rows in one table; cells that are not named are missing."""

    def write(name: str, config: str, *rows: dict[str, Any], withdrawn: int = 0) -> Path:
        path = tmp_path / name / parquet_path(config)
        path.parent.mkdir(parents=True)
        pq.write_table(
            pa.Table.from_pylist(rows, schema=columnar.arrow_schema(RELEASE_TABLES[config].columns)), path
        )
        left_out = {"withdrawn": {"removed": withdrawn} if withdrawn else {}}
        manifest = {"files": {}, "cut": {}, "left_out": left_out}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
        return tmp_path / name

    return write


def told(before: Path, after: Path) -> list[tuple[str, dict[str, Any], tuple[str, ...]]]:
    return [(one.kind, one.key, one.fields) for one in diff.differences(before, after)]


def test_control_characters_in_names_and_texts_are_part_of_them(released):
    stays = {"item": "a\x1f=1", "version": 1, "question": "An\x1fanswer"}
    moved = {"item": "a", "version": 1, "question": "x\x1f=y", "reference_answer": "z"}
    before = released("one", "items", stays, moved)
    now = {**moved, "question": "x", "reference_answer": "y\x1f=z"}
    after = released("two", "items", stays, now, {"item": "new\x1f", "version": 1, "prompt": "\x1f"})
    assert told(before, before) == []
    assert told(before, after) == [
        ("changed", {"item": "a", "version": "1"}, ("question", "reference_answer")),
        ("added", {"item": "new\x1f", "version": "1"}, ()),
    ]


def test_missing_parts_of_a_key_and_missing_cells_are_told_from_empty_ones(released):
    vote = {"judgment": "j", "task": "t", "revision": 1, "origin": "rated", "effective": True}
    alone = {**vote, "question": None, "slot": None, "exclusion_reason": None}
    before = released("one", "judgments", alone, {**vote, "question": "", "slot": 0})
    after = released("two", "judgments", {**alone, "exclusion_reason": ""})
    whole = {"judgment": "j", "task": "t"}
    assert told(before, after) == [
        ("changed", {**whole, "question": None, "slot": None}, ("exclusion_reason",)),
        ("removed", {**whole, "question": "", "slot": "0"}, ()),
    ]


@pytest.mark.parametrize(
    ("before", "after", "withdrawn", "why"),
    [
        ({}, {"blind_judgment": "j"}, 0, "judged blind"),
        ({}, {"blind_judgment": "j"}, 1, "judged blind"),
        ({}, {"expert": "R-1"}, 1, "named: has become a rater"),
        ({"expert": "R-1", "blind_judgment": "j"}, {}, 1, "rater withdrawn"),
        ({"expert": "R-1"}, {}, 0, "changed"),
        ({"expert": "R-1"}, {"expert": "R-2"}, 1, "changed"),
    ],
)
def test_a_rater_is_told_to_have_withdrawn_only_where_one_did(released, before, after, withdrawn, why):
    case = {"case": 1, "state": "resolved"}
    folders = (
        released("one", "cases", {**case, **before}, withdrawn=2),
        released("two", "cases", {**case, **after}, withdrawn=2 + withdrawn),
    )
    assert [one.why for one in diff.differences(*folders)] == [why]


def test_a_table_of_any_size_is_compared_a_part_at_a_time(released, monkeypatch):
    """Memory goes by the part; what is told, and in which order, does not."""

    def listened(number: int, **cells: Any) -> dict[str, Any]:
        name = f"é{number * 7919 % 2000:04}" if number % 3 else f"{number * 7919 % 2000:04}"
        return {"judgment": name, "log": "{}", **cells}

    every = range(2000)
    before = released("one", "listening", *[listened(n) for n in every if n % 50 or not n])
    after = released(
        "two", "listening", *[listened(n, gains_db="[1.0]" if n % 41 == 0 else None) for n in every if n % 77]
    )
    whole = told(before, after)
    monkeypatch.setattr(diff, "PART_BYTES", 8192)
    monkeypatch.setattr(diff, "_WEIGHT", 512)
    monkeypatch.setattr(diff, "_BATCH_ROWS", 64)
    files = [folder / parquet_path("listening") for folder in (before, after)]
    sizes = [
        (len(old), len(new)) for old, new in diff.table_parts(*files, key=["judgment"], watched=["gains_db"])
    ]
    assert len(sizes) > 5
    assert max(max(size) for size in sizes) < 500
    assert [sum(side) for side in zip(*sizes, strict=True)] == [
        pq.read_metadata(file).num_rows for file in files
    ]
    assert told(before, after) == whole
    assert len(whole) > 100
    assert [key["judgment"] for _, key, _ in whole] == sorted(key["judgment"] for _, key, _ in whole)


def test_listening_logs_are_not_compared(released):
    """They stay as they are: only whether there is one can be other."""
    before = released("one", "listening", {"judgment": "j", "log": "{}"})
    after = released("two", "listening", {"judgment": "j", "log": '{"heard": []}'})
    assert told(before, after) == []
