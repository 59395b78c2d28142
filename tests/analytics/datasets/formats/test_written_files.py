"""What is written into a file of rows is read back from it, and by our importers of the layouts of others."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analytics.datasets.formats import answer_lines, candidate_lines, preferences, ratings, writers
from analytics.datasets.formats.contract import AnswerRow, Column, JudgmentRow, Output
from annotation.importing.formats import cmi_pref as cmi_importer
from annotation.importing.formats import orca as orca_importer
from annotation.importing.records import TaskRecord
from annotation.protocols import preset
from tests.analytics.datasets.formats.judged import BOTH, RATING, clip, compared, context, rated
from tests.annotation.importing.importing import merge_fragments


def written(path: Path, rows: Iterable[dict[str, Any]], columns: tuple[Any, ...]) -> Path:
    writer = writers.WRITERS[path.suffix[1:]](path, columns)
    for row in rows:
        writer.write(row)
    writer.close()
    return path


COLUMNS = (Column("id", "string", "a name"), Column("text", "string", "words"))


@pytest.mark.parametrize("kind", sorted(writers.WRITERS))
@pytest.mark.parametrize("text", ["a\rb", "a\r\nb\n", "=1", "＝1", "\n=1", "'=1", '"', " , "])
def test_texts_come_back_as_they_were(tmp_path, kind, text):
    rows = [{"id": "one", "text": text}, {"id": "two", "text": "x"}]
    path = written(tmp_path / f"rows.{kind}", rows, COLUMNS)
    assert list(writers.read_rows(path, ["id", "text"])) == rows


def test_votes_in_cmi_prefs_columns_come_back_as_they_were(tmp_path):
    said = tuple(
        JudgmentRow(
            rater,
            "rated",
            (
                AnswerRow("alignment", choice=choice, confidence=2.5),
                AnswerRow("musicality", choice=3, confidence=None),
                AnswerRow("evidence", text="“Clearer” drums,\nin time"),
            ),
            presentation=shown,
        )
        for rater, choice, shown in (("x", 1, (1, 0)), ("y", 2, (0, 1)))
    )
    judged = compared("")
    content = replace(judged.content, lyrics="La la", reference_clip=clip("asked"))
    judged = replace(judged, judgments=said, content=content)
    (tmp_path / "audio").mkdir()
    for sound in (*(output.clip for output in judged.outputs), content.reference_clip):
        (tmp_path / sound.file_name).write_bytes(b"fLaC")
    rows = preferences.cmi_pref_rows(judged, BOTH, context("cmi-pref"))
    path = written(tmp_path / "train.jsonl", rows, preferences.CMI_PREF_COLUMNS)

    (record,) = merge_fragments(cmi_importer.read(path, preset("cmi-pref"), {}))
    assert isinstance(record, TaskRecord)
    assert (record.item.external_id, record.item.texts["lyrics"]) == ("item of one", "La la")
    assert record.item.reference_audio == tmp_path / clip("asked").file_name
    assert [(one.system, one.audio) for one in record.candidates] == [
        (output.system, tmp_path / output.clip.file_name) for output in judged.outputs
    ]
    found = {one.rater: one for one in record.judgments}
    for one in said:
        back = found[one.rater]
        assert back.presentation == one.presentation
        assert {(given.question, given.choice, given.confidence, given.text) for given in back.answers} == {
            (given.question, given.choice, given.confidence, given.text) for given in one.answers
        }


@pytest.mark.parametrize("generation", ["json", "jsonl"])
def test_ratings_in_orcas_layout_come_back_as_they_were(tmp_path, generation):
    silent = JudgmentRow("r8", "rated", (), codes=("A", "E"), comment="No idea what this is")
    one, two = rated([5, 1, 3], "one"), rated([2], "two_M2_1")
    one = replace(one, judgments=(*one.judgments, silent))
    rows = [row for judged in (one, two) for row in ratings.orca_rows(judged, RATING, context("orca"))]
    path = written(tmp_path / f"train.{generation}", rows, ratings.ORCA_COLUMNS)

    records = {
        record.item.external_id: record
        for record in merge_fragments(orca_importer.read(path, preset("orca"), {}))
        if isinstance(record, TaskRecord)
    }
    assert set(records) == {"item of one", "item of two_M2_1"}
    back = records["item of one"]
    assert [answer.value for said in back.judgments for answer in said.answers] == [5, 1, 3]
    assert (back.judgments[3].codes, back.judgments[3].comment) == (("A", "E"), "No idea what this is")
    assert (back.candidates[0].system, back.candidates[0].text) == ("M1_0", "A bell.")
    assert back.item.texts == {
        "question": "What is heard in one?", "reference": "A bell.", "rationale": "", "transcript": "",
    }  # fmt: skip


@pytest.mark.parametrize("generation", ["json", "jsonl"])
def test_items_and_systems_of_any_name_come_back_from_orcas_layout(tmp_path, generation):
    outputs = {"alpha": 1, "beta_2_b": 1, "M1_0": 2}
    chosen = context("orca", texts="both")
    chosen.systems = tuple(sorted(outputs))
    rows = [
        row
        for item in ("clip_7", "clip_M1_0")
        for version in (1, 2)
        for system, take in outputs.items()
        for row in ratings.orca_rows(
            replace(
                rated([4], f"{item} | {system}"),
                item=item,
                version=version,
                outputs=(Output(1, system, take, text="The same words."),),
            ),
            RATING,
            chosen,
        )
    ]
    path = written(tmp_path / f"train.{generation}", rows, ratings.ORCA_COLUMNS)

    records = list(merge_fragments(orca_importer.read(path, preset("orca"), {})))
    assert {(record.item.external_id, record.candidates[0].system) for record in records} == {
        (item, system) for item in ("clip_7", "clip_7.v2", "clip_M1_0", "clip_M1_0.v2") for system in outputs
    }
    assert len({record.external_id for record in records}) == len(records) == len(rows)


# CSV of judgments and of items.


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
    clip = {"sha256": "aa", "canonical_sha256": "bb", "seconds": 2.5, "file": "a.wav"}
    candidates = [{"system": name, "take": 1, "text": "t", "clip": clip} for name in ("x", "y")]
    rows = read(candidate_lines([{**ITEM, "candidates": candidates, "reference_clip": clip}]))
    assert [(row["item"], row["system"], row["candidate_clip_sha256"]) for row in rows] == [
        ("i", "x", "aa"), ("i", "y", "aa"),
    ]  # fmt: skip
    assert (rows[0]["reference_clip_seconds"], rows[0]["clip_sha256"]) == ("2.5", "")
    assert (rows[0]["candidate_clip_file"], rows[0]["clip_file"]) == ("a.wav", "")
    assert rows[0]["strata"] == '{"genre": "jazz"}'


def test_an_item_without_candidates_has_one_row():
    (row,) = read(candidate_lines([ITEM]))
    assert (row["item"], row["system"], row["candidate_clip_sha256"]) == ("i", "", "")


def test_without_records_there_is_a_header():
    assert read(answer_lines([])) == []
    assert next(iter(answer_lines([]))).startswith("study,item,")
