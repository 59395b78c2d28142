"""Rows of texts alone are encoded as their records would be: a thousand generated rows by both ways."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from annotation.importing.formats import text_rows
from annotation.importing.formats.source_files import ReadPosition
from annotation.importing.formats.table import read_rows
from annotation.importing.records import EncodedTask, Note, RowProblem, encode_task, validate_record
from annotation.protocols import Protocol, preset

COLUMNS = (
    "item_id", "prompt", "question_text", "reference", "system", "answer", "system_a", "answer_a", "system_b",
    "answer_b", "stratum.kind", "stratum.länge", "audio", "question", "value", "rater_id", "check", "take",
    "expected.correctness", "caption", "else", "left out",
)  # fmt: skip
COLUMN_MAP = {"caption": "prompt", "left out": ""}
TEXTS = (
    "", " ", "a", "b ", "A bell.", "s1", "7", 'a "b" \\', "ä\u2028🎵", "tab\tline\n", "\0", "\ud800", "\x1f", "x" * 201,
    "y" * 301, "correct", "gold",
)  # fmt: skip
VALUES = (*TEXTS, *TEXTS, 7, -1, 0.5, True, None, None, ["a"])


def some_row(dice: random.Random) -> dict[str, object]:
    """Most rows are complete, so that most are no fault."""
    names = dice.sample(COLUMNS, dice.randrange(1, 9))
    row: dict[str, object] = {
        name: dice.choice(VALUES if dice.random() < 0.4 else TEXTS[2:9]) for name in names
    }
    if dice.random() < 0.9:
        row |= {"item_id": dice.choice(TEXTS[2:9])}
    if dice.random() < 0.8:
        systems = dice.choice([("system",), ("system_a", "system_b")])
        row = {name: value for name, value in row.items() if not name.startswith(("system", "answer"))}
        row |= {name: dice.choice(TEXTS[2:9]) for name in systems}
        row |= {name.replace("system", "answer"): dice.choice(TEXTS) for name in systems}
    return row


def staged(
    rows: list[dict[str, object]], protocol: Protocol, *, encoded: bool
) -> tuple[list[object], int, object]:
    """What is staged of the rows, how many were encoded at once, and what is known of their columns."""
    place, found, n_at_once = ReadPosition(), list[object](), 0
    entries = ((str(number), row) for number, row in enumerate(rows, 1))
    for entry in read_rows(entries, Path("/nowhere"), protocol, COLUMN_MAP, place, encoded=encoded):
        if isinstance(entry, EncodedTask):
            found.append(entry)
            n_at_once += 1
        elif isinstance(entry, RowProblem | Note):
            found.append(entry)
        else:
            found += [*validate_record(entry)] or [encode_task(entry)]
    return found, n_at_once, place.columns


@pytest.mark.parametrize("name", ["orca", "fense", "cmi-pref", "mushra"])
def test_a_row_is_staged_the_same_either_way(name, monkeypatch):
    monkeypatch.setattr(text_rows, "MAX_SHAPES", 1000)
    protocol, dice = preset(name), random.Random(name)
    rows = [some_row(dice) for _ in range(1000)]
    by_record, none, columns = staged(rows, protocol, encoded=False)
    at_once, n, same_columns = staged(rows, protocol, encoded=True)
    assert (none, at_once, columns) == (0, by_record, same_columns)
    assert (n > 50) == (protocol.candidate == "text")
