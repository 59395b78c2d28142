"""Raters who asked to be taken out are in no count, figure or export, also where excluded votes are told of."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from analytics.data import counted_judgments, votes
from analytics.data.questions import measured_questions
from analytics.datasets import exports, judged_tasks, training_sets
from analytics.datasets.records import case_records, check_records, correction_records, judgment_records
from analytics.datasets.releases import withdrawal_certificate
from analytics.review.case_votes import votes_on_version
from analytics.review.item_history import history_json, item_history
from annotation.errors import Conflict
from annotation.models import Answer, Job, Return
from tests import factories
from tests.analytics.datasets.released import Working, working

pytestmark = pytest.mark.django_db


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


def exported(world: Working) -> str:
    readers = (judgment_records, case_records, check_records, correction_records, judged_tasks.task_records)
    return "".join(json.dumps(record) for read in readers for record in read(world.study))


def test_no_reader_of_votes_has_them(world):
    [question] = [one for one in measured_questions(world.study) if one.key == "correctness"]
    gone = world.rater(world.users[0])
    n_votes = len(votes.load_votes(question).status)
    n_told = sum(one.n for one in counted_judgments.judgment_fates(world.study))
    assert gone.pseudonym in exported(world)
    world.withdraw(world.users[0])
    assert len(votes.load_votes(question).status) == n_votes - 2
    assert sum(one.n for one in counted_judgments.judgment_fates(world.study)) == n_told - 2
    assert not Answer.objects.filter(judgment__rater=gone, counted=True).exists()
    assert gone.pseudonym not in exported(world)
    assert '"reply": "No."' not in exported(world)


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
    records = list(judgment_records(world.study))
    theirs = [record for record in records if not record["rater"]]
    assert theirs == records[-2:] == sorted(theirs, key=lambda record: record["client_id"])
    assert not any(name in exported(world) for name in names)
    assert sorted(answer["value"] for record in theirs for answer in record["answers"]) == [2, 4]
    assert {(record["rater"], record["submitted_at"], record["excluded"]) for record in theirs} == {
        ("", None, True)
    }
    assert world.rater(world.users[0]).pseudonym not in exported(world)


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
