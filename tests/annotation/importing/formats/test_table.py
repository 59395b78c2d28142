"""Plain CSV and JSONL: how rows form tasks and judgments, and every row they refuse."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from annotation.rating.rules.answers import FIRST, SECOND
from tests.annotation.importing.formats import reading, sounds
from tests.annotation.importing.formats.reading import problems, tasks

HEADER = "item_id,question_text,reference,system,answer,rater_id,question,value,codes,comment"
PANEL = "item_id,question_text,system_a,answer_a,system_b,answer_b,system_d,answer_d,rater_id,question,candidate,value"
read = partial(reading.read, "csv", protocol="orca", merged=True)
read_lines = partial(reading.read, "jsonl", protocol="orca")


@pytest.fixture
def csv(tmp_path: Path):
    def write(*rows: str, header: str = HEADER) -> Path:
        path = tmp_path / "study.csv"
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def jsonl(tmp_path: Path):
    """Rows about an answer, each complete unless the test changes it."""

    def write(*rows: dict, end: str = "") -> Path:
        complete = {"item_id": "i1", "question_text": "Q?", "system": "s1", "answer": "Yes"}
        path = tmp_path / "x.jsonl"
        path.write_text("\n".join(json.dumps({**complete, **row}) for row in rows) + end)
        return path

    return write


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            ["ann,correctness,4,A,", "bob,correctness,5,,good"],
            [("ann", [4.0], ("A",), ""), ("bob", [5.0], (), "good")],
        ),
        ([",,,,"], []),
        ([",correctness,4,,"] * 3, [(f"#{place}", [4.0], (), "") for place in range(3)]),
        (
            [",correctness,4,,", ",,,U,", ",correctness,2,,"],
            [("#0", [4.0], (), ""), ("#1", [], ("U",), ""), ("#2", [2.0], (), "")],
        ),
        (["ann,,,U E,"], [("ann", [], ("E", "U"), "")]),
    ],
    ids=[
        "rows about one answer are one task",
        "a row without an answer is a task that waits",
        "without a rater every answer is somebody else's",
        "codes of somebody unnamed stay their own",
        "codes alone are a judgment",
    ],
)
def test_what_rows_say_of_an_answer_are_its_judgments(csv, rows, said):
    [record] = read(csv(*(f"i1,Q?,R,s1,Yes,{row}" for row in rows)))
    found = [(j.rater or j.key, [a.value for a in j.answers], j.codes, j.comment) for j in record.judgments]
    assert found == said


def test_columns_can_be_mapped_and_left_out(csv):
    path = csv("i1,Yes,s1,x", header="Item,answer,system,internal")
    assert problems(read(path)) == [("2", "Item"), ("2", "internal"), ("2", "item_id")]
    [record] = read(path, Item="item_id", internal="")
    assert record.item.external_id == "i1"


def test_a_mapped_column_must_be_there(csv):
    assert problems(read(csv("i1,Q?,R,s1,Yes,,,,,"), Itm="item_id")) == [("", "Itm")]


def test_files_of_one_name_in_two_folders_are_two_tasks(tmp_path):
    rows = ["item_id,prompt,system_a,system_b,audio_a,audio_b"]
    for folder in ("one", "two"):
        for name in ("x.wav", "y.wav"):
            sounds.tone(tmp_path / folder / name)
        rows.append(f"i1,P,alpha,beta,{folder}/x.wav,{folder}/y.wav")
    (tmp_path / "pairs.csv").write_text("\n".join(rows))
    assert len(read(tmp_path / "pairs.csv", protocol="cmi-pref")) == 2


def test_strata_are_columns_of_their_own(csv):
    [record] = read(csv("i1,s1,Yes,speech", header="item_id,system,answer,stratum.modality"))
    assert record.item.strata == {"modality": "speech"}


def test_a_byte_order_mark_is_fine(csv):
    path = csv("i1,Q?,R,s1,Yes,,,,,")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert problems(read(path)) == []


def test_pairs_undo_their_order(csv, tmp_path):
    for name in ("x.wav", "y.wav"):
        sounds.tone(tmp_path / name)
    path = csv(
        "i1,P,alpha,beta,x.wav,y.wav,ann,alignment,A,4",
        "i1,P,alpha,beta,x.wav,y.wav,ann,musicality,B,2",
        "i1,P,beta,alpha,y.wav,x.wav,bob,alignment,A,5",
        header="item_id,prompt,system_a,system_b,audio_a,audio_b,rater_id,question,value,confidence",
    )
    [record] = read(path, protocol="cmi-pref")
    ann, bob = record.judgments
    assert [(a.question, a.choice) for a in ann.answers] == [("alignment", FIRST), ("musicality", SECOND)]
    assert (bob.rater, bob.answers[0].choice, bob.presentation) == ("bob", SECOND, (1, 0))


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
        ("i1,Q?,R,s1,Yes,ann,correctness,4,,", "rater_id"),
        ("i2,Q?,R,s1,Yes,ann", ""),
    ],
)
def test_a_bad_row_is_reported_by_number_and_field(csv, row, field):
    assert problems(read(csv("i1,Q?,R,s1,Yes,ann,correctness,4,,", row))) == [("3", field)]


def test_that_one_item_has_two_contents_is_seen_by_the_import_over_all_its_tasks(csv):
    rows = [f"i1,{text},R,{system},Yes,ann,correctness,4,," for text, system in (("Q?", "s1"), ("Q!", "s2"))]
    assert problems(read(csv(*rows))) == []


@pytest.mark.parametrize(
    ("header", "row", "problem"),
    [
        ("item_id,system,answer,answer", "i1,s1,Yes,No", ("1", "answer")),
        pytest.param("item_id,system,answer,question,value,confidence", "i1,s1,Yes,correctness,4,3",
                     ("2", "confidence"), id="the protocol asks for no confidence"),
        pytest.param(f"{HEADER},candidate", "i1,Q?,R,s1,Yes,ann,correctness,4,,,a",
                     ("2", "candidate"), id="a question asked once names no candidate"),
    ],
)  # fmt: skip
def test_a_column_that_is_not_meant_is_a_problem(csv, header, row, problem):
    assert problems(read(csv(row, header=header))) == [problem]


def test_an_empty_file_is_a_problem(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"")
    assert problems(read(tmp_path / "x.csv")) == [("1", "")]


def test_line_numbers_stay_right_after_a_line_in_another_encoding(csv):
    path = csv()
    with path.open("ab") as file:
        file.write("i1,Q?,R,s2,äöü,,,,,\n".encode())
        file.write("i2,Q?,R,s1,café,,,,,\n".encode("latin-1") + b"\ni3,Q?,R,s1,Yes,ann,correctness,9,,\n")
    assert sorted(problems(read(path))) == [("3", ""), ("5", "value")]


def test_jsonl_reads_like_csv(jsonl):
    row = {"item_id": 7, "rater_id": "ann", "question": "correctness", "value": 4}
    entries = read_lines(jsonl(row, end="\n\n{broken\n"))
    [record] = tasks(entries)
    assert (record.item.external_id, record.judgments[0].answers[0].value) == ("7", 4.0)
    assert problems(entries) == [("3", "")]


def test_a_row_with_a_bad_cell_is_no_record(jsonl):
    row = {"question": "correctness", "value": 4, "of_mine": 1}
    entries = read_lines(jsonl({**row, "rater_id": "ann", "reference": ["R"]}, {**row, "rater_id": "bob"}))
    assert problems(entries) == [("1", "of_mine"), ("1", "reference")]
    [record] = tasks(entries)
    assert [judgment.rater for judgment in record.judgments] == ["bob"]


@pytest.mark.parametrize("field", ["reference", "stratum.genre"])
def test_two_columns_are_not_read_as_one_field(jsonl, field):
    source = jsonl({"mine": "a cat"}, {"mine": "a cat", "item_id": "i2", field: ""})
    record, fault = read_lines(source, mine=field)
    assert record.item.external_id == "i1"
    problem = f"is read as {field}, and so is mine"
    assert (fault.row, fault.field, fault.problem) == ("2", field, problem)


# ── Panels ───────────────────────────────────────────────────────────────────


def test_a_row_names_the_candidates_of_a_panel_by_letter_and_may_leave_letters_out(csv):
    [record] = read(csv("i1,Q?,s2,No,s1,Yes,s3,Perhaps,,,,", header=PANEL), protocol="aqeval")
    assert [(c.system, c.text) for c in record.candidates] == [("s1", "Yes"), ("s2", "No"), ("s3", "Perhaps")]


def test_a_panels_answers_are_about_the_candidate_of_their_letter(csv):
    answers = ("a,0", "B,1", "d,1")
    rows = [f"i1,Q?,s2,No,s1,Yes,s3,Perhaps,ann,correct,{answer}" for answer in answers]
    [record] = read(csv(*rows, header=PANEL), protocol="aqeval")
    [judgment] = record.judgments
    assert [(answer.slot, answer.value) for answer in judgment.answers] == [(1, 0), (0, 1), (2, 1)]
    assert judgment.presentation == (1, 0, 2)


def test_answers_of_somebody_unnamed_to_one_panel_are_one_judgment(csv):
    rows = [f"i1,Q?,s1,Yes,s2,No,,,,correct,{letter},1" for letter in "abab"]
    [record] = read(csv(*rows, header=PANEL), protocol="aqeval")
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
    assert problems(read(csv(row, header=PANEL), protocol="aqeval")) == [("2", field)]
