"""What exports write of a block at once is what Python's own modules write of each cell."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from analytics.datasets import columnar, records
from analytics.datasets.columnar import CSV, JSON, SEPARATOR
from analytics.datasets.formats.contract import CellChange, Column
from analytics.datasets.playback_columns import FIELDS, playback_columns, playback_record
from analytics.datasets.record_tables import Rows, Struct
from analytics.datasets.release_tables import FRACTION
from annotation.csv_escaping import escape_formula
from tests.analytics.datasets.exported import exported, written
from tests.analytics.datasets.released import working
from tests.analytics.reviewed import reviewed

TEXTS = [
    "",
    "=1+1",
    "'=x",
    "''-y",
    "'x",
    "a,b",
    'say "x"',
    "two\nlines",
    "\r",
    "\r\n",
    "\t",
    "＋1",
    "火",
    "\\n",
    "\x01",
]
NUMBERS = ["0", "4", "-1.5", "100", "0.1", "1e-05", "1e+16", "123456789.25", "0.3333333333333333"]


def _plain(number: str) -> float | int:
    value = float(number)
    return int(value) if value.is_integer() else value


def _cells(kind: str, chance: random.Random) -> tuple[str | None, Any, Any]:
    """A cell as COPY sends it, as Python has it in JSON, and in CSV."""
    if chance.random() < 0.2:
        return None, None, ""
    texts = chance.choices(TEXTS, k=chance.randrange(3))
    match kind:
        case "text" | "word":
            text = chance.choice(TEXTS)
            return text, text, escape_formula(text)
        case "texts":
            return "".join(SEPARATOR + one for one in texts), texts, json.dumps(texts, ensure_ascii=False)
        case "codes":
            return "".join(SEPARATOR + one for one in texts), texts, escape_formula(";".join(texts))
        case "floats":
            values = chance.choices([*NUMBERS, "null"], k=chance.randrange(4))
            floats = [None if one == "null" else float(one) for one in values]
            return "".join(SEPARATOR + one for one in values), floats, json.dumps(floats)
    number = chance.choice(NUMBERS)
    value = float(number) if kind == "float" else _plain(number)
    return number, value, value


@pytest.mark.parametrize("size", [1, 60, 400])
def test_lines_are_those_of_pythons_json_and_csv(size):
    chance = random.Random(size)
    kinds = ("text", "word", "texts", "codes", "floats", "number", "float")
    columns = [Column(kind, kind, "") for kind in kinds]
    cells = [{kind: _cells(kind, chance) for kind in kinds} for _ in range(size)]
    read = {kind: pa.array([row[kind][0] for row in cells], columnar.ARROW_READ[kind]) for kind in kinds}
    lines = [json.dumps({kind: row[kind][1] for kind in kinds}, ensure_ascii=False) for row in cells]
    assert bytes(JSON.lines(read, columns)).decode() == "".join(f"{line}\n" for line in lines)
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows([row[kind][2] for kind in kinds] for row in cells)
    assert bytes(CSV.lines(read, columns)).decode() == buffer.getvalue()


@pytest.mark.parametrize("most", [0, 1, 3])
@pytest.mark.parametrize("as_many", [True, False])
@pytest.mark.parametrize("kind", ["word", "text"])
def test_rows_of_a_record_are_its_list_whether_all_records_have_as_many_or_not(kind, as_many, most):
    chance = random.Random(18)
    lengths = [most if as_many else chance.randrange(most + 1) for _ in range(300)]
    listed = [
        [
            {
                "word": chance.choice("ab"),
                "note": chance.choice([None, *TEXTS]),
                "same": 1,
                "clip": chance.choice([None, {"sha": "é"}]),
            }
            for _ in range(n)
        ]
        for n in lengths
    ]
    # A record without rows has a row of nothing.
    flat = [
        row for rows in listed for row in rows or [{"word": None, "note": None, "same": None, "clip": None}]
    ]
    starts = np.cumsum([0, *(max(n, 1) for n in lengths[:-1])])
    fields = (
        Column("word", "word", ""),
        Column("note", kind, ""),
        Column("same", "int", ""),
        Struct("clip", (Column("sha", "text", ""),)),
    )
    read = {
        f"rows.{name}": pa.array(values, columnar.ARROW_READ[of])
        for name, of, values in (
            ("word", "word", [row["word"] for row in flat]),
            ("note", kind, [row["note"] for row in flat]),
            ("same", "int", [row["same"] for row in flat]),
            ("clip_sha", "text", [row["clip"] and row["clip"]["sha"] for row in flat]),
        )
    }
    texts = columnar.spelled_out(records._listed(read, Rows("rows", fields), starts))
    assert texts.to_pylist() == [json.dumps(rows, ensure_ascii=False) for rows in listed]


def test_zero_and_minus_zero_are_two_values_in_blocks_that_have_no_other():
    columns = [Column("n", "real", "")]
    lines = [bytes(JSON.lines({"n": pa.array([n, n])}, columns)) for n in (0.0, -0.0)]
    assert lines == [b'{"n": 0}\n' * 2, b'{"n": -0}\n' * 2]


def test_only_cells_that_match_are_changed_each_different_one_once():
    changed: list[str] = []
    change = CellChange(FRACTION, lambda cell: changed.append(cell) or cell.upper())  # type: ignore[func-returns-value]
    columns = [Column("n", "int", ""), Column("a", "json", "")]
    read = columnar.read_block(b'1,"x 0.5"\n2,"y"\n3,\n4,"x 0.5"\n', columns, {"a": change})
    assert (read["a"].to_pylist(), changed) == (["X 0.5", "y", None, "X 0.5"], ["x 0.5"])


def _log(chance: random.Random) -> dict[str, Any]:
    """A playback log, of which a few are nonsense."""

    def second() -> float:
        return chance.choice(
            [chance.randrange(40), round(chance.uniform(0, 40), 3), chance.random(), 0.005, 2.675]
        )

    def spans() -> Any:
        listed = [[start, start + second()] for start in (second() for _ in range(chance.randrange(5)))]
        odd = [[3, 1], [1], ["a", 2], [-0.05, 2], [0, 86_401], [True, 2]]
        return [*listed, chance.choice(odd)] if chance.random() < 0.03 else listed

    names = chance.sample(["a", "b", "x", "z", "reference", "recording", "a1", "é"], chance.randrange(5))
    parts = {
        "heard": {name: spans() for name in names}
        if chance.random() < 0.95
        else chance.choice(["all", None, []]),
        "switches": chance.choice([0, 1, 5, 999_999])
        if chance.random() < 0.95
        else chance.choice([-1, 2.0, True, None]),
        "session_s": chance.choice([0, 12, 12.5, 3.14159, 10**9, 1e-5, 7.0, None, True, "x", -1]),
    }
    return {name: value for name, value in parts.items() if chance.random() < 0.9}


def test_what_was_heard_in_a_block_is_what_was_heard_in_each():
    chance = random.Random(18)
    logs, names = [_log(chance) for _ in range(1000)], chance.choices(["ab", "abx", "a", "", "ba"], k=1000)
    parts = [
        pa.array(
            [json.dumps(log[part], ensure_ascii=False) if part in log else None for log in logs], pa.string()
        )
        for part in ("heard", "switches", "session_s")
    ]
    columns = playback_columns(*parts, pa.array(names, pa.string()))
    for field in FIELDS:
        expected = [playback_record(log, names=own)[field] for log, own in zip(logs, names, strict=True)]
        texts = [None if one is None else json.dumps(one, ensure_ascii=False) for one in expected]
        assert columns[field].to_pylist() == texts


def _rows(study: Any, table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(study, f"{table}.csv"), newline="")))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return escape_formula(value)
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def _flat(record: dict[str, Any], rows: str = "") -> list[dict[str, str]]:
    """A record as CSV has it: a row per answer or candidate, and cells for what its clips are."""
    own = {name: value for name, value in record.items() if name != rows and not name.endswith("clip")}
    cells = {name: _cell(value) for name, value in own.items()}
    if "codes" in own:
        cells["codes"] = escape_formula(";".join(own["codes"]))
    for name in (name for name in record if name.endswith("clip")):
        parts = record[name] or dict.fromkeys(("sha256", "canonical_sha256", "seconds", "file"))
        cells |= {f"{name}_{part}": _cell(value) for part, value in parts.items()}
    nested = [_flat(one)[0] for one in record[rows]] if rows else []
    if rows == "candidates":
        nested = [
            {name.replace("clip_", "candidate_clip_"): value for name, value in one.items()} for one in nested
        ]
    return [cells | one for one in nested] or [cells]


@pytest.mark.django_db
def test_csv_says_what_json_lines_say():
    world = working()
    world.go_on()
    for study in (world.study, reviewed(slug="s").study):
        for table in ("judgments", "items", "hidden_checks", "checks", "corrections", "cases", "skips"):
            rows = {"judgments": "answers", "items": "candidates"}.get(table, "")
            expected = [row for record in exported(study, table) for row in _flat(record, rows)]
            written = _rows(study, table)
            assert len(written) == len(expected)
            for row, one in zip(written, expected, strict=True):
                assert row == dict.fromkeys(row, "") | one


@pytest.mark.django_db
def test_without_records_csv_has_a_header():
    study = reviewed(slug="s").study
    assert written(study, "hidden_checks.csv").startswith("study,client_id,item,")
    assert written(study, "hidden_checks.jsonl") == ""
