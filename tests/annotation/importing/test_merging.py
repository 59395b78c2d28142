"""Records: what a name may hold, and the merging of what one task's rows say, in time that grows with the judgments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.importing import merging
from annotation.importing.records import (
    COMPLETE,
    PARTIAL,
    AnswerRecord,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    TaskRecord,
    validate_record,
)


def task(*judgments: JudgmentRecord) -> TaskRecord:
    return TaskRecord("1", "t", ItemRecord("i"), (), list(judgments))


def part(row: int, rater: str = "", question: str = "q") -> JudgmentRecord:
    return JudgmentRecord(PARTIAL, str(row), rater, (AnswerRecord(question, value=1.0),))


def test_rows_of_one_rater_are_one_judgment_wherever_they_stand():
    one = task(part(1, "ann", "p"), part(2, "bob"), part(3, "ann"), part(4, "ann"))
    [problem] = merging.merge_judgments(one)
    assert [(judgment.key, len(judgment.answers)) for judgment in one.judgments] == [("ann", 2), ("bob", 1)]
    assert (problem.row, problem.problem) == ("4", "ann answered this on row 1 before")


def test_somebody_unnamed_is_known_by_their_place():
    whole = JudgmentRecord(COMPLETE, "4"), JudgmentRecord(COMPLETE, "5")
    one = task(part(1, question="p"), part(2), part(3), *whole)
    assert merging.merge_judgments(one) == []
    places = [("#0", "1"), ("#1", "3"), ("#2", "4"), ("#3", "5")]
    assert [(judgment.key, judgment.row) for judgment in one.judgments] == places


def test_a_judgment_is_there_once_by_its_name():
    one = task(JudgmentRecord("x", "1"), JudgmentRecord("x", "2"), JudgmentRecord("y", "3"))
    [problem] = merging.merge_judgments(one)
    assert [judgment.row for judgment in one.judgments] == ["1", "3"]
    assert (problem.row, problem.problem) == ("2", "'t' is on row 1 as well")


def test_what_was_settled_stays():
    one = task(part(1, "ann", "p"), part(2, "ann"), part(3), JudgmentRecord(COMPLETE, "4"))
    merging.merge_judgments(one)
    before = list(one.judgments)
    assert merging.merge_judgments(one) == []
    assert one.judgments == before


def test_judgments_are_not_compared_each_with_each(monkeypatch):
    n, seen = 2000, []
    real = merging._answered_questions
    monkeypatch.setattr(
        merging, "_answered_questions", lambda judgment: seen.append(judgment) or real(judgment)
    )
    one = task(*(part(row) for row in range(n)), *(JudgmentRecord(f"k{row}", str(row)) for row in range(n)))
    for judgment in one.judgments:
        object.__setattr__(judgment, "rater", CountedText(judgment.rater))
    CountedText.n = 0
    assert merging.merge_judgments(one) == []
    assert len(seen) <= 2 * n
    assert CountedText.n <= 20 * n


class CountedText(str):
    """Counts how often it is asked for its truth or compared."""

    n = 0

    def __bool__(self) -> bool:
        CountedText.n += 1
        return len(self) > 0

    def __eq__(self, other: object) -> bool:
        CountedText.n += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


RECORD = TaskRecord("1", "task", ItemRecord("item", {"question": "An\x1fanswer"}), (CandidateRecord("s"),))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("id", {"external_id": "task\x1f"}),
        ("id", {"item": ItemRecord("it\x1fem")}),
        ("system", {"candidates": (CandidateRecord("s\x1f2"),)}),
        ("rater", {"judgments": [JudgmentRecord("#", "1", "\x1fr")]}),
    ],
)
def test_what_stands_between_names_is_in_none_of_them_but_may_be_in_texts(field, change):
    assert list(validate_record(RECORD)) == []
    assert [(one.row, one.field) for one in validate_record(replace(RECORD, **change))] == [("1", field)]
