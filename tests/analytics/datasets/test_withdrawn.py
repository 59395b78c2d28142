"""Raters and experts who asked to be taken out."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from analytics.data import counted_judgments, votes
from analytics.data.questions import measured_questions
from analytics.datasets import diff, exports, judged_tasks, table_files, training_sets
from analytics.datasets.release_manifest import parquet_path
from analytics.datasets.releases import withdrawal_certificate
from analytics.review.case_votes import votes_on_version
from analytics.review.item_history import history_json, item_history
from annotation.errors import Conflict
from annotation.models import Answer, CaseEvent, Job, Return
from annotation.review import adjudication
from tests import factories
from tests.analytics.datasets.exported import exported
from tests.analytics.datasets.released import Working, cut_of, release, rows, working
from tests.annotation.importing.desk import corrections, judged

pytestmark = pytest.mark.django_db

# Raters who asked to be taken out are in no count, figure or export, also where excluded votes are told of.


@pytest.fixture
def world() -> Working:
    world = working()
    case = world.correct(world.tasks[3])
    gone = world.rater(world.users[0])
    # Excluded by somebody before: that mark stands, and votes so marked are read for the report's other readings.
    world.mark("exclude", world.of(world.users[0]).filter(answers__value=2))
    Return.objects.create(
        case=case, task=world.tasks[3], rater=gone, comment="Again?", reply="No.", created_by=world.expert
    )
    return world


def everything(world: Working) -> str:
    tables = [exported(world.study, name) for name in ("judgments", "cases", "checks", "corrections")]
    return json.dumps([tables, list(judged_tasks.task_records(world.study))])


def test_no_reader_of_votes_has_them(world):
    [question] = [one for one in measured_questions(world.study) if one.key == "correctness"]
    gone = world.rater(world.users[0])
    n_votes = len(votes.load_votes(question).status)
    n_told = sum(one.n for one in counted_judgments.judgment_fates(world.study))
    assert gone.pseudonym in everything(world)
    world.withdraw(world.users[0])
    assert len(votes.load_votes(question).status) == n_votes - 2
    assert sum(one.n for one in counted_judgments.judgment_fates(world.study)) == n_told - 2
    assert not Answer.objects.filter(judgment__rater=gone, counted=True).exists()
    assert gone.pseudonym not in everything(world)
    assert '"reply": "No."' not in everything(world)


@pytest.mark.parametrize("mode", ["removed", "anonymised"])
def test_no_list_and_no_page_names_them_or_what_they_said(world, client, mode):
    manager = factories.member(world.study, "researcher")
    gone = world.rater(world.users[0])
    client.force_login(manager)
    Return.objects.update(closed_at=timezone.now())

    def listed() -> str:
        answers = [client.get(f"/api/v1/studies/duel/{name}/") for name in ("judgments", "exclusions")]
        pages = "".join(answer.content.decode() for answer in answers)
        for task in world.tasks:
            said = votes_on_version(task.item_version)
            pages += str([vote.judgment.rater.pseudonym for one in said for vote in one.votes])
            history = item_history(task.item_version.item, votes_up_to=None)
            pages += str(history_json(history)["entries"])
        return pages

    assert gone.pseudonym in listed()
    assert "reply': 'No." in listed()
    names = {str(one.client_id) for one in world.of(world.users[0])}
    world.withdraw(world.users[0], mode)
    pages = listed()
    assert gone.pseudonym not in pages
    assert "reply': 'No." not in pages
    assert not any(name in pages for name in names)


def test_an_export_has_the_answers_of_the_anonymised_without_them(world):
    names = {str(judgment.client_id) for judgment in world.of(world.users[0])}
    world.withdraw(world.users[0], "anonymised")
    records = list(exported(world.study, "judgments"))
    theirs = [record for record in records if not record["rater"]]
    assert theirs == records[-2:] == sorted(theirs, key=lambda record: record["client_id"])
    assert not any(name in everything(world) for name in names)
    assert sorted(answer["value"] for record in theirs for answer in record["answers"]) == [2, 4]
    assert {(record["rater"], record["submitted_at"], record["excluded"]) for record in theirs} == {
        ("", None, True)
    }
    assert world.rater(world.users[0]).pseudonym not in everything(world)


@pytest.mark.parametrize("archives", [exports.EXPORT_ARCHIVES, training_sets.TRAINING_SET_ARCHIVES])
def test_what_was_made_before_is_not_given_out_any_more(world, archives):
    before, after = (
        Job.objects.create(kind=archives.kind, study=world.study, state="done", created_at=timezone.now())
        for _ in range(2)
    )
    for job in (before, after):
        default_storage.save(archives.path(job), ContentFile(b"zip"))
        assert archives.stored(job)
    world.withdraw(world.users[0])
    after.started_at = timezone.now()  # done anew since
    assert archives.stored(after)
    with pytest.raises(Conflict, match="A rater has withdrawn"):
        archives.stored(before)
    told = withdrawal_certificate(world.rater(world.users[0]))
    assert told["exports_and_training_sets_before"] == "not given out any more"


@pytest.mark.parametrize("archives", [exports.EXPORT_ARCHIVES, training_sets.TRAINING_SET_ARCHIVES])
def test_an_archive_read_before_a_withdrawal_is_refused_whatever_the_clocks_say(world, archives):
    world.withdraw(world.users[1])
    made = Job.objects.create(
        kind=archives.kind,
        study=world.study,
        state="done",
        started_at=timezone.now() + timedelta(hours=1),
        report={"withdrawals": 1},
    )
    default_storage.save(archives.path(made), ContentFile(b"zip"))
    assert archives.stored(made)
    world.withdraw(world.users[0])
    with pytest.raises(Conflict, match="A rater has withdrawn"):
        archives.stored(made)


def test_the_certificate_waits_for_a_release_that_was_cut_before(world):
    begun = timezone.now()
    world.withdraw(world.users[0])
    gone = world.rater(world.users[0])
    assert withdrawal_certificate(gone)["releases_before"] == []
    being_made = Job.objects.create(kind="release", study=world.study, state="running", started_at=begun)
    with pytest.raises(Conflict, match="still being taken out"):
        withdrawal_certificate(gone)
    Job.objects.filter(pk=being_made.pk).update(started_at=timezone.now())
    assert withdrawal_certificate(gone)
    Job.objects.filter(pk=being_made.pk).update(started_at=begun, state="cancelled")
    assert withdrawal_certificate(gone)


# Experts who rate too and have asked to be taken out: what they made of items stays, what they said of it does not.


WORDS = "In my own words"


@pytest.fixture
def expert_world() -> Working:
    """Two cases of an expert who will withdraw, one corrected and one found fine; one of a colleague."""
    expert_world = working()
    colleague = factories.member(expert_world.study, "expert")
    for expert, task in ((expert_world.expert, 2), (expert_world.expert, 3), (colleague, 4)):
        case = judged(expert, expert_world.tasks[task])
        CaseEvent.objects.create(case=case, kind="opened", data={"rule": "codes"})
        if task == 3:
            adjudication.approve_item(expert, case.pk, comment=WORDS)
        else:
            adjudication.correct_item(expert, case.pk, corrections(case, comment=f"{WORDS} {task}"))
        Return.objects.create(
            case=case, task=expert_world.tasks[task], comment=f"{WORDS} {task}", created_by=expert
        )
    return expert_world


@pytest.mark.parametrize("mode", ["removed", "anonymised"])
def test_the_next_release_has_the_corrected_text_without_their_words_and_times(expert_world, tmp_path, mode):
    made = cut_of(expert_world.study)
    table_files.write_release(made, expert_world.study, out=tmp_path / "before")
    expert_world.withdraw(expert_world.expert, mode)
    release(expert_world.study, tmp_path / "after", number=2)
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
    table_files.write_release(made, expert_world.study, out=tmp_path / "again")
    for config in ("cases", "corrections"):
        again, then = (tmp_path / name / parquet_path(config) for name in ("again", "before"))
        assert again.read_bytes() == then.read_bytes()


@pytest.mark.parametrize("mode", ["removed", "anonymised"])
def test_the_next_export_has_neither(expert_world, mode):
    expert_world.withdraw(expert_world.expert, mode)
    author = [(one["comment"], one["corrected_at"]) for one in exported(expert_world.study, "corrections")]
    assert author[:2] == [("", None)] * 2
    assert (author[2][0], author[2][1] is None) == (f"{WORDS} 4", False)
    told = list(exported(expert_world.study, "cases"))
    assert [(one["comment"], one["claimed_at"], one["decided_at"]) for one in told[:3]] == [
        ("", None, None)
    ] * 3
    said = [(one["returns"][0]["comment"], one["returns"][0]["returned_at"]) for one in told[1:3]]
    assert said == [("", None)] * 2
    assert told[3]["returns"][0]["comment"] == told[3]["comment"] == f"{WORDS} 4"
    assert None not in (told[3]["claimed_at"], told[3]["decided_at"], told[3]["returns"][0]["returned_at"])


def test_a_case_that_a_colleague_took_over_keeps_the_colleagues_times(expert_world, tmp_path):
    """Whose time it is goes by who did it last."""
    case = judged(expert_world.expert, expert_world.tasks[5])
    CaseEvent.objects.create(case=case, kind="opened", data={"rule": "codes"})
    CaseEvent.objects.create(case=case, kind="released", actor=expert_world.expert)
    CaseEvent.objects.create(case=case, kind="claimed", actor=factories.member(expert_world.study, "expert"))
    expert_world.withdraw(expert_world.expert)
    release(expert_world.study, tmp_path / "after")
    assert rows(tmp_path / "after", "cases")[-1]["claimed_at"] is not None
    [told] = [one for one in exported(expert_world.study, "cases") if one["case"] == case.pk]
    assert told["claimed_at"] is not None
