"""Experts who rate too and have asked to be taken out: what they made of items stays, what they said of it does not."""

from __future__ import annotations

import pytest

from analytics.datasets import diff, table_files
from analytics.datasets.records import case_records, correction_records
from analytics.datasets.release_manifest import parquet_path
from annotation.models import CaseEvent, Return
from annotation.review import adjudication
from tests import factories
from tests.analytics.datasets.released import Working, cut_of, release, rows, working
from tests.annotation.importing.desk import corrections, judged

pytestmark = pytest.mark.django_db

WORDS = "In my own words"


@pytest.fixture
def world() -> Working:
    """Two cases of an expert who will withdraw, one corrected and one found fine; one of a colleague."""
    world = working()
    colleague = factories.member(world.study, "expert")
    for expert, task in ((world.expert, 2), (world.expert, 3), (colleague, 4)):
        case = judged(expert, world.tasks[task])
        CaseEvent.objects.create(case=case, kind="opened", data={"rule": "codes"})
        if task == 3:
            adjudication.approve_item(expert, case.pk, comment=WORDS)
        else:
            adjudication.correct_item(expert, case.pk, corrections(case, comment=f"{WORDS} {task}"))
        Return.objects.create(case=case, task=world.tasks[task], comment=f"{WORDS} {task}", created_by=expert)
    return world


@pytest.mark.parametrize("mode", ["removed", "anonymised"])
def test_the_next_release_has_the_corrected_text_without_their_words_and_times(world, tmp_path, mode):
    made = cut_of(world.study)
    table_files.write_release(made, world.study, out=tmp_path / "before")
    world.withdraw(world.expert, mode)
    release(world.study, tmp_path / "after", number=2)
    told = [
        (one.config, one.kind, one.why)
        for one in diff.differences(tmp_path / "before", tmp_path / "after")
        if one.config in ("cases", "corrections")
    ]
    assert (
        told
        == [("corrections", "changed", "rater withdrawn")] * 2 + [("cases", "changed", "rater withdrawn")] * 3
    )
    theirs = [row for row in rows(tmp_path / "after", "corrections") if row["author"] is None]
    assert [(row["after"], row["comment"], row["corrected_at"]) for row in theirs] == [
        ("What rings?", None, None)
    ] * 2
    cases = rows(tmp_path / "after", "cases")
    assert [(row["decision"], row["comment"], row["claimed_at"], row["decided_at"]) for row in cases[:3]] == [
        ("corrected", None, None, None), ("corrected", None, None, None), ("fine", None, None, None),
    ]  # fmt: skip
    other = cases[3]
    assert (other["comment"], None in (other["claimed_at"], other["decided_at"])) == (f"{WORDS} 4", False)
    # What was released before can be made again.
    table_files.write_release(made, world.study, out=tmp_path / "again")
    for config in ("cases", "corrections"):
        again, then = (tmp_path / name / parquet_path(config) for name in ("again", "before"))
        assert again.read_bytes() == then.read_bytes()


@pytest.mark.parametrize("mode", ["removed", "anonymised"])
def test_the_next_export_has_neither(world, mode):
    world.withdraw(world.expert, mode)
    author = [(one["comment"], one["corrected_at"]) for one in correction_records(world.study)]
    assert author[:2] == [("", None)] * 2
    assert (author[2][0], author[2][1] is None) == (f"{WORDS} 4", False)
    told = list(case_records(world.study))
    assert [(one["comment"], one["claimed_at"], one["decided_at"]) for one in told[:3]] == [
        ("", None, None)
    ] * 3
    said = [(one["returns"][0]["comment"], one["returns"][0]["returned_at"]) for one in told[1:3]]
    assert said == [("", None)] * 2
    assert told[3]["returns"][0]["comment"] == told[3]["comment"] == f"{WORDS} 4"
    assert None not in (told[3]["claimed_at"], told[3]["decided_at"], told[3]["returns"][0]["returned_at"])


def test_a_case_that_a_colleague_took_over_keeps_the_colleagues_times(world, tmp_path):
    """Whose time it is goes by who did it last."""
    case = judged(world.expert, world.tasks[5])
    CaseEvent.objects.create(case=case, kind="opened", data={"rule": "codes"})
    CaseEvent.objects.create(case=case, kind="released", actor=world.expert)
    CaseEvent.objects.create(case=case, kind="claimed", actor=factories.member(world.study, "expert"))
    world.withdraw(world.expert)
    release(world.study, tmp_path / "after")
    assert rows(tmp_path / "after", "cases")[-1]["claimed_at"] is not None
    [told] = [one for one in case_records(world.study) if one["case"] == case.pk]
    assert told["claimed_at"] is not None
