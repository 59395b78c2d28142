"""Answers of every kind in a plain table: as they were said, and every cell that says nothing known."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from annotation.importing.formats import FORMATS
from annotation.importing.records import RowProblem
from annotation.models import Answer, Study
from annotation.protocols import parse
from annotation.studies import protocols
from tests import every_kind, factories
from tests.annotation.importing.importing import bring

pytestmark = pytest.mark.django_db

EVENTS = {**every_kind.QUESTIONS[6], "clip": "clip", "per_candidate": False}
TEXTS = every_kind.every_kind(
    candidate="text",
    content=["question", "clip"],
    questions=[*every_kind.QUESTIONS[:4], EVENTS],
)
COLUMNS = ("item_id", "question_text", "system_a", "answer_a", "system_b", "answer_b", "rater_id", "question",
           "candidate", "value")  # fmt: skip
ANSWERS = [
    ("order", "a", "2"),
    ("order", "b", "1"),
    ("genre", "", "Jazz"),
    ("flaws", "a", "noise; Clipping"),
    ("flaws", "b", "none"),
    ("clicks", "", '[{"start": 1.5, "end": null, "label": "noise", "note": "hum"}]'),
]


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(slug="kinds")
    protocols.add_protocol_version(study, definition=TEXTS, actor=None)
    return study


def table(folder: Path, *answers: tuple[str, str, str]) -> Path:
    path = folder / "answers.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows(("i1", "Q?", "s1", "Yes", "s2", "No", "ann", *answer) for answer in answers)
    return path


def test_a_table_brings_answers_of_every_kind_and_again_changes_nothing(study, tmp_path):
    path = table(tmp_path, *ANSWERS)
    for _ in range(2):
        bring(study, path, format="csv")
        said = {
            (one.question.key, one.candidate and one.candidate.system.name): one
            for one in Answer.objects.select_related("question", "candidate__system")
        }
        assert {key: one.value for key, one in said.items() if key[0] == "order"} == {
            ("order", "s1"): 2.0, ("order", "s2"): 1.0
        }  # fmt: skip
        assert said["genre", None].option == "jazz"
        assert (said["flaws", "s1"].options, said["flaws", "s2"].options) == (["noise", "clipping"], [])
        assert said["clicks", None].events == [{"start": 1.5, "end": None, "label": "noise", "note": "hum"}]
        assert len(said) == len(ANSWERS)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (("genre", "", "Polka"), "'Polka' is not an option of genre"),
        (("flaws", "a", "noise; hum"), "'hum' is not an option of flaws"),
        (("flaws", "a", "noise;clipping;silence"), "has 3 options"),
        (("order", "a", "3"), "'3' is not a place"),
        (("order", "", "1"), "'' is not a candidate of this row"),
        (("clicks", "", "at two seconds"), "Give a list of events"),
        (("clicks", "", '[{"start": 2, "label": "pop"}]'), "Choose one of noise"),
    ],
)
def test_a_cell_that_says_nothing_known_is_reported_with_the_remedy(tmp_path, answer, problem):
    entries = FORMATS["csv"].read(table(tmp_path, answer), parse(TEXTS), {})
    found = [entry for entry in entries if isinstance(entry, RowProblem)]
    assert any(problem in one.problem and one.remedy for one in found), found
