"""Plain CSV and JSONL: how rows form tasks and judgments, and every row they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.importing.formats import FORMATS, RowProblem, TaskRecord
from annotation.protocols import preset
from annotation.rating.rules.answers import FIRST, SECOND
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import merge_fragments

HEADER = "item_id,question_text,reference,system,answer,rater_id,question,value,codes,comment"


@pytest.fixture
def csv(tmp_path: Path):
    def write(*rows: str, header: str = HEADER) -> Path:
        path = tmp_path / "study.csv"
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    return write


def read(path, protocol="orca", **column_map):
    return list(merge_fragments(FORMATS["csv"].read(path, preset(protocol), column_map)))


def problems(path, protocol="orca", **column_map):
    return [(p.row, p.field) for p in read(path, protocol, **column_map) if isinstance(p, RowProblem)]


def test_rows_about_one_answer_are_one_task(csv):
    [record] = read(csv("i1,Q?,R,s1,Yes,ann,correctness,4,A,", "i1,Q?,R,s1,Yes,bob,correctness,5,,good"))
    assert isinstance(record, TaskRecord)
    assert [(j.rater, j.answers[0].value, j.codes, j.comment) for j in record.judgments] == [
        ("ann", 4.0, ("A",), ""),
        ("bob", 5.0, (), "good"),
    ]


def test_a_row_without_an_answer_is_a_task_that_waits(csv):
    [record] = read(csv("i1,Q?,R,s1,Yes,,,,,"))
    assert record.judgments == []


def test_without_a_rater_every_answer_is_somebody_elses(csv):
    rows = ["i1,Q?,R,s1,Yes,,correctness,4,,"] * 3
    [record] = read(csv(*rows))
    assert [j.key for j in record.judgments] == ["#0", "#1", "#2"]


def test_codes_of_somebody_unnamed_stay_their_own(csv):
    [record] = read(
        csv("i1,Q?,R,s1,Yes,,correctness,4,,", "i1,Q?,R,s1,Yes,,,,U,", "i1,Q?,R,s1,Yes,,correctness,2,,")
    )
    assert [(len(j.answers), j.codes) for j in record.judgments] == [(1, ()), (0, ("U",)), (1, ())]


def test_line_numbers_stay_right_after_a_line_that_cannot_be_read(csv):
    path = csv()
    raw = (
        path.read_bytes()
        + "i2,Q?,R,s1,café,,,,,\n".encode("latin-1")
        + b"\ni3,Q?,R,s1,Yes,ann,correctness,9,,\n"
    )
    path.write_bytes(raw)
    assert sorted(problems(path)) == [("2", ""), ("4", "value")]


def test_a_column_stands_in_the_header_once(csv):
    assert problems(csv("i1,s1,Yes,No", header="item_id,system,answer,answer")) == [("1", "answer")]


def test_codes_alone_are_a_judgment(csv):
    [record] = read(csv("i1,Q?,R,s1,Yes,ann,,,U E,"))
    assert (record.judgments[0].codes, record.judgments[0].answers) == (("E", "U"), ())


def test_columns_can_be_mapped_and_left_out(csv):
    path = csv("i1,Yes,s1,x", header="Item,answer,system,internal")
    assert problems(path) == [("2", "Item"), ("2", "internal"), ("2", "item_id")]
    [record] = read(path, Item="item_id", internal="")
    assert record.item.external_id == "i1"


def test_a_mapped_column_must_be_there(csv):
    assert problems(csv("i1,Q?,R,s1,Yes,,,,,"), Itm="item_id") == [("", "Itm")]


def test_files_of_one_name_in_two_folders_are_two_tasks(tmp_path):
    rows = ["item_id,prompt,system_a,system_b,audio_a,audio_b"]
    for folder in ("one", "two"):
        for name in ("x.wav", "y.wav"):
            sounds.tone(tmp_path / folder / name)
        rows.append(f"i1,P,alpha,beta,{folder}/x.wav,{folder}/y.wav")
    (tmp_path / "pairs.csv").write_text("\n".join(rows))
    assert len(read(tmp_path / "pairs.csv", "cmi-pref")) == 2


def test_strata_are_columns_of_their_own(csv):
    [record] = read(csv("i1,s1,Yes,speech", header="item_id,system,answer,stratum.modality"))
    assert record.item.strata == {"modality": "speech"}


def test_a_byte_order_mark_is_fine(csv):
    path = csv("i1,Q?,R,s1,Yes,,,,,")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert problems(path) == []


def test_pairs_undo_their_order(tmp_path):
    for name in ("x.wav", "y.wav"):
        sounds.tone(tmp_path / name)
    header = "item_id,prompt,system_a,system_b,audio_a,audio_b,rater_id,question,value,confidence"
    path = tmp_path / "pairs.csv"
    path.write_text(
        f"{header}\n"
        "i1,P,alpha,beta,x.wav,y.wav,ann,alignment,A,4\n"
        "i1,P,alpha,beta,x.wav,y.wav,ann,musicality,B,2\n"
        "i1,P,beta,alpha,y.wav,x.wav,bob,alignment,A,5\n"
    )
    [record] = read(path, "cmi-pref")
    assert [(a.question, a.choice) for a in record.judgments[0].answers] == [
        ("alignment", FIRST),
        ("musicality", SECOND),
    ]
    assert [(j.rater, j.answers[0].choice, j.presentation) for j in record.judgments][1] == (
        "bob",
        SECOND,
        (1, 0),
    )


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (",Q?,R,s1,Yes,ann,correctness,4,,", "item_id"),
        ("i2,Q?,R,,Yes,ann,correctness,4,,", "system"),
        ("i2,Q?,R,s1,Yes,ann,correctness,6,,", "value"),
        ("i2,Q?,R,s1,Yes,ann,correctness,nan,,", "value"),
        ("i2,Q?,R,s1,Yes,ann,correctness,,,", "value"),
        ("i2,Q?,R,s1,Yes,ann,loudness,4,,", "question"),
        ("i2,Q?,R,s1,Yes,ann,correctness,4,Z,", "codes"),
        ("i1,Another?,R,s2,Yes,ann,correctness,4,,", ""),
        ("i1,Q?,R,s1,Yes,ann,correctness,4,,", "rater_id"),
        ("i2,Q?,R,s1,Yes,ann", ""),
    ],
)
def test_a_bad_row_is_reported_by_number_and_field(csv, row, field):
    found = problems(csv("i1,Q?,R,s1,Yes,ann,correctness,4,,", row))
    # That one item has two contents is seen by the import, over all its tasks.
    assert found == ([] if row.startswith("i1,Another") else [("3", field)])


def test_confidence_is_asked_for_by_the_protocol(csv):
    header = "item_id,system,answer,question,value,confidence"
    assert problems(csv("i1,s1,Yes,correctness,4,3", header=header)) == [("2", "confidence")]


def test_an_empty_file_is_a_problem(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"")
    assert problems(tmp_path / "x.csv") == [("1", "")]


def test_another_encoding_is_named_with_its_line(csv):
    path = csv("i1,Q?,R,s1,Yes,,,,,")
    path.write_bytes(path.read_bytes() + "i2,Q?,R,s1,café,,,,,\n".encode("latin-1"))
    assert problems(path) == [("3", "")]


def test_jsonl_reads_like_csv(tmp_path):
    path = tmp_path / "x.jsonl"
    row = {
        "item_id": 7,
        "system": "s1",
        "answer": "Yes",
        "rater_id": "ann",
        "question": "correctness",
        "value": 4,
    }
    path.write_text(json.dumps(row) + "\n\n{broken\n")
    record, problem = sorted(
        FORMATS["jsonl"].read(path, preset("orca"), {}), key=lambda entry: isinstance(entry, RowProblem)
    )
    assert isinstance(record, TaskRecord)
    assert (record.item.external_id, record.judgments[0].answers[0].value) == ("7", 4.0)
    assert isinstance(problem, RowProblem)
    assert problem.row == "3"


# ── Panels ───────────────────────────────────────────────────────────────────

PANEL = "item_id,question_text,system_a,answer_a,system_b,answer_b,system_d,answer_d,rater_id,question,candidate,value"


def test_a_row_names_the_candidates_of_a_panel_by_letter_and_may_leave_letters_out(csv):
    [record] = read(csv("i1,Q?,s2,No,s1,Yes,s3,Perhaps,,,,", header=PANEL), "aqeval")
    assert [(c.system, c.text) for c in record.candidates] == [("s1", "Yes"), ("s2", "No"), ("s3", "Perhaps")]


def test_a_panels_answers_are_about_the_candidate_of_their_letter(csv):
    rows = [
        f"i1,Q?,s2,No,s1,Yes,s3,Perhaps,ann,correct,{letter},{value}" for letter, value in ("a0", "B1", "d1")
    ]
    [record] = read(csv(*rows, header=PANEL), "aqeval")
    [judgment] = record.judgments
    assert [(answer.slot, answer.value) for answer in judgment.answers] == [(1, 0), (0, 1), (2, 1)]
    assert judgment.presentation == (1, 0, 2)


def test_answers_of_somebody_unnamed_to_one_panel_are_one_judgment(csv):
    rows = [f"i1,Q?,s1,Yes,s2,No,,,,correct,{letter},1" for letter in "abab"]
    [record] = read(csv(*rows, header=PANEL), "aqeval")
    assert [len(judgment.answers) for judgment in record.judgments] == [2, 2]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("i1,Q?,s1,Yes,s2,No,,,ann,correct,c,1", "candidate"),
        ("i1,Q?,s1,Yes,s2,No,,,ann,correct,,1", "candidate"),
        ("i1,Q?,s1,Yes,s2,No,,,ann,correct,a,2", "value"),
        ("i1,Q?,s1,Yes,s1,Yes,,,,,,", "system_b"),
        ("i1,Q?,,,,,,,,,,", "system_a"),
        ("i1,Q?,s1,Yes,,No,,,,,,", "system_b"),
    ],
)
def test_a_bad_panel_row_is_a_problem_of_its_field(csv, row, field):
    assert problems(csv(row, header=PANEL), "aqeval") == [("2", field)]


def test_a_question_asked_once_names_no_candidate(csv):
    row = "i1,Q?,R,s1,Yes,ann,correctness,4,,,a"
    assert problems(csv(row, header=f"{HEADER},candidate")) == [("2", "candidate")]


def written(path: Path, *rows: dict) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def test_a_row_with_a_bad_cell_is_no_record(tmp_path):
    row = {"item_id": "i1", "question_text": "Q?", "system": "s1", "answer": "Yes", "rater_id": "ann",
           "question": "correctness", "value": 4, "of_mine": 1}  # fmt: skip
    source = written(tmp_path / "x.jsonl", {**row, "reference": ["R"]}, {**row, "rater_id": "bob"})
    found = list(FORMATS["jsonl"].read(source, preset("orca"), {}))
    told = [(p.row, p.field) for p in found if isinstance(p, RowProblem)]
    assert told == [("1", "of_mine"), ("1", "reference")]
    [record] = [entry for entry in found if isinstance(entry, TaskRecord)]
    assert [judgment.rater for judgment in record.judgments] == ["bob"]


@pytest.mark.parametrize("field", ["reference", "stratum.genre"])
def test_two_columns_are_not_read_as_one_field(tmp_path, field):
    row = {"item_id": "i1", "question_text": "Q?", "system": "s1", "answer": "Yes", "mine": "a cat"}
    source = written(tmp_path / "x.jsonl", row, {**row, "item_id": "i2", field: ""})
    record, problem = FORMATS["jsonl"].read(source, preset("orca"), {"mine": field})
    assert isinstance(record, TaskRecord)
    assert (problem.row, problem.field, problem.problem) == (
        "2",
        field,
        f"is read as {field}, and so is mine",
    )
