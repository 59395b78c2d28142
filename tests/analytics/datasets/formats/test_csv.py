from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from analytics.datasets.formats import answer_lines, candidate_lines

JUDGMENT: dict[str, Any] = {
    "study": "s", "item": "i", "item_version": 1, "task": "t", "task_kind": "regular", "systems": ["a", "b"],
    "takes": [1, 1], "roles": ["judged", "judged"], "rater_marks": [],
    "presentation": [1, 0], "client_id": "c", "rater": "R-1", "origin": "rated", "revision": 1,
    "effective": True, "excluded": False, "exclusion_reason": "", "surplus": False, "protocol_version": 1,
    "preset": "p", "codes": ["A"], "comment": "", "hint": None, "hint_shown": None, "ordering_policy": None,
    "inclusion_probability": None, "leased_at": None, "started_at": None, "submitted_at": "2026-03-01T09:30:00.000000Z",
    "gains_db": [-5.0, 0.0], "heard_s": [10, 8.25],
    "heard_item_s": {"reference": 3}, "switches": 2, "session_s": None, "answers": [],
}  # fmt: skip
ANSWER: dict[str, Any] = {
    "question": "q", "slot": None, "system": None, "choice": "b", "choice_slot": 1, "choice_shown": "A",
    "value": None, "confidence": 4, "text": "", "events": None,
}  # fmt: skip
ITEM: dict[str, Any] = {
    "study": "s", "item": "i", "state": "active", "strata": {"genre": "jazz"}, "version": 1, "current": True,
    "retracted": False,
    "prompt": "p", "lyrics": "", "question": "", "reference": "", "rationale": "", "transcript": "", "extra": {},
    "reference_clip": None, "clip": None, "candidates": [],
}  # fmt: skip


def read(lines) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(lines), newline="")))


def judged(*answers: dict[str, Any], **fields: Any) -> list[dict[str, str]]:
    return read(answer_lines([{**JUDGMENT, "answers": list(answers), **fields}]))


def test_every_answer_is_a_row_with_its_judgment_repeated():
    rows = judged(ANSWER, {**ANSWER, "question": "r"})
    assert [(row["question"], row["client_id"], row["choice"]) for row in rows] == [
        ("q", "c", "b"),
        ("r", "c", "b"),
    ]


def test_a_judgment_without_answers_has_one_row_and_codes_are_joined_as_the_plain_import_takes_them():
    (row,) = judged(codes=["A", "R"])
    assert (row["codes"], row["question"], row["value"]) == ("A;R", "", "")


def test_lists_and_truth_values_are_json_and_what_is_missing_is_empty():
    (row,) = judged(ANSWER)
    assert (row["systems"], row["presentation"]) == ('["a", "b"]', "[1, 0]")
    assert (row["effective"], row["excluded"]) == ("true", "false")
    assert (row["value"], row["confidence"], row["leased_at"]) == ("", "4", "")
    heard = (row["gains_db"], row["heard_s"], row["heard_item_s"], row["switches"], row["session_s"])
    assert heard == ("[-5.0, 0.0]", "[10, 8.25]", '{"reference": 3}', "2", "")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_that_a_spreadsheet_would_run_is_defused(start):
    (row,) = judged({**ANSWER, "text": f"{start}1+1"}, comment=f"{start}cmd")
    assert (row["text"], row["comment"]) == (f"'{start}1+1", f"'{start}cmd")


def test_numbers_below_zero_quotes_lines_and_other_scripts_survive():
    text = 'He said "no",\nthen: 音质不好'
    (row,) = judged({**ANSWER, "value": -1.5, "text": text})
    assert (row["value"], row["text"]) == ("-1.5", text)


def test_every_candidate_is_a_row_with_its_item_repeated():
    clip = {"sha256": "aa", "canonical_sha256": "bb", "seconds": 2.5}
    candidates = [{"system": name, "take": 1, "text": "t", "clip": clip} for name in ("x", "y")]
    rows = read(candidate_lines([{**ITEM, "candidates": candidates, "reference_clip": clip}]))
    assert [(row["item"], row["system"], row["candidate_clip_sha256"]) for row in rows] == [
        ("i", "x", "aa"), ("i", "y", "aa"),
    ]  # fmt: skip
    assert (rows[0]["reference_clip_seconds"], rows[0]["clip_sha256"]) == ("2.5", "")
    assert rows[0]["strata"] == '{"genre": "jazz"}'


def test_an_item_without_candidates_has_one_row():
    (row,) = read(candidate_lines([ITEM]))
    assert (row["item"], row["system"], row["candidate_clip_sha256"]) == ("i", "", "")


def test_without_records_there_is_a_header():
    assert read(answer_lines([])) == []
    assert next(iter(answer_lines([]))).startswith("study,item,")
