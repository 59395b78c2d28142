"""A person who is taken out of a study: at once, wholly, and for good."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation.errors import Conflict, NotAllowed
from annotation.jobs import jobs
from annotation.models import (
    Answer,
    Assignment,
    AuditEvent,
    Exclusion,
    Job,
    Judgment,
    Rater,
    RaterWithdrawal,
    Study,
    User,
)
from annotation.raters import withdrawal
from annotation.rating import exclusions, judgments, leases
from annotation.studies import members
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=2)
    for name in ("one", "two", "three"):
        factories.rating_task(study, name)
    return study


@pytest.fixture
def user(study: Study) -> User:
    return factories.member(study)


def rate(study: Study, user: User) -> Judgment:
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, rating(4))
    return Judgment.objects.get(assignment_id=lease.id)


def withdraw(study: Study, user: User, mode: str = "removed") -> Job:
    rater = Rater.objects.get(study=study, user=user)
    _, job = withdrawal.withdraw(rater, mode=mode, actor=None, note="by letter")
    jobs.run(job.pk)
    job.refresh_from_db()
    return job


def test_what_they_said_counts_no_more_and_its_places_open(study, user):
    mine, other = rate(study, user), rate(study, factories.member(study))
    assert withdraw(study, user).report == {
        "rater": mine.rater.pseudonym,
        "judgments": 1,
        "excluded_before": 0,
    }
    assert set(Answer.objects.filter(counted=True).values_list("judgment", flat=True)) == {other.pk}
    assert Exclusion.objects.get().reason == "rater_withdrawn"
    mine.task.refresh_from_db()
    assert mine.task.wants_more
    assert Rater.objects.get(user=user).n_judgments == 0


def test_the_wish_is_recorded_with_who_wrote_it_down_and_cannot_be_altered(study, user):
    withdraw(study, user)
    row = RaterWithdrawal.objects.get()
    assert (row.rater.state, row.mode, row.note) == ("withdrawn", "removed", "by letter")
    assert AuditEvent.objects.get(action="rater.withdrawn").data["withdrawal"] == row.pk
    for change in (lambda: RaterWithdrawal.objects.update(mode="anonymised"), row.delete):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


def test_they_get_no_task_and_no_answer_of_theirs_is_taken_any_more(study, user):
    _, held = leases.lease_next(user, study.slug)
    withdraw(study, user)
    assert Assignment.objects.get(pk=held.id).state == Assignment.State.RETURNED
    with pytest.raises(NotAllowed, match="withdrawn"):
        leases.lease_next(user, study.slug)
    with pytest.raises(NotAllowed, match="withdrawn"):
        judgments.submit(user, held.id, rating(2))
    assert not Judgment.objects.exists()


def test_a_vote_that_comes_before_the_work_is_done_leaves_with_the_others(study, user):
    _, held = leases.lease_next(user, study.slug)
    _, job = withdrawal.withdraw(Rater.objects.get(user=user), mode="removed", actor=None)
    judgments.submit(user, held.id, rating(2))
    jobs.run(job.pk)
    assert Judgment.objects.get().excluded


def test_nobody_brings_them_back(study, user):
    rate(study, user)
    withdraw(study, user)
    rater = Rater.objects.get(user=user)
    outcome = exclusions.exclude_or_restore(
        Judgment.objects.all(), study=study, action="restore", reason="mistake", actor=None
    )
    assert (outcome.changed, outcome.kept_out, Judgment.objects.get().excluded) == (0, 1, True)
    with pytest.raises(Conflict, match="for good"):
        members.set_rater_state(rater, "active", actor=factories.UserFactory(), reason="mistake")
    with pytest.raises(Conflict, match="before"):
        withdrawal.withdraw(rater, mode="removed", actor=None)
    members.add_member(study, user, role="annotator", actor=None)
    assert Rater.objects.get(user=user).state == "withdrawn"


def test_a_page_that_was_open_before_writes_no_other_state_over_the_wish(study, user):
    as_seen_before = Rater.objects.get(user=user)
    withdraw(study, user)
    with pytest.raises(Conflict):
        members.set_rater_state(as_seen_before, "excluded", actor=factories.UserFactory(), reason="late")
    assert Rater.objects.get(user=user).state == Rater.State.WITHDRAWN


def test_the_work_cannot_be_cancelled_and_is_done_once(study, user):
    rate(study, user)
    _, job = withdrawal.withdraw(Rater.objects.get(user=user), mode="removed", actor=None)
    with pytest.raises(Conflict, match="cannot be cancelled"):
        jobs.cancel(job, actor=factories.UserFactory())
    for _ in range(2):
        jobs.run(job.pk)
        Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED)
    assert Judgment.objects.get().excluded
    assert Exclusion.objects.count() == 1


@pytest.mark.parametrize("ended", ["cancelled", "failed"])
def test_work_that_came_to_no_good_end_is_begun_again_after_a_rest(study, user, ended):
    rate(study, user)
    _, job = withdrawal.withdraw(Rater.objects.get(user=user), mode="removed", actor=None)
    assert withdrawal.resume_withdrawals() == 0
    Job.objects.filter(pk=job.pk).update(state=ended, finished_at=timezone.now())
    assert withdrawal.resume_withdrawals() == 0
    Job.objects.update(finished_at=timezone.now() - timedelta(hours=1))
    assert [withdrawal.resume_withdrawals(), withdrawal.resume_withdrawals()] == [1, 0]
    jobs.run(Job.objects.get(state="queued").pk)
    assert Judgment.objects.get().excluded
    Job.objects.update(finished_at=timezone.now() - timedelta(hours=1))
    assert withdrawal.resume_withdrawals() == 0


def test_the_command_asks_first_and_changes_nothing_unless_it_is_told_yes(study, user, monkeypatch, capsys):
    rater = rate(study, user).rater
    # Nothing to read: started by another program.
    for typed, message in (("no\n", "Nothing was changed"), ("", "Add --yes")):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        with pytest.raises(CommandError, match=message):
            call_command("withdraw_rater", study.slug, rater.pseudonym)
    assert not RaterWithdrawal.objects.exists()
    capsys.readouterr()
    call_command("withdraw_rater", study.slug, rater.pseudonym, "--yes")
    assert capsys.readouterr().out == f"{rater} is withdrawn; 1 judgments left the figures.\n"
