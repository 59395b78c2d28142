"""Tasks that are no regular ones: out of the queue and of every counter, whoever judges them and however often."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from annotation.models import Assignment, CheckOutcome, GoldKey, Judgment, Rater, Study, Task, User
from annotation.rating import judgments, leases, revisions, task_kinds
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.rating.conftest import mark

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=1)
    for name in ("bell", "horn"):
        factories.rating_task(study, name)
    return study


def make_check(name: str, *, kind: int = Task.Kind.GOLD, value: float = 4, tolerance: float = 1) -> Task:
    task = Task.objects.get(external_id=name)
    Task.objects.filter(pk=task.pk).update(kind=kind)
    GoldKey.objects.create(task=task, question_key="correctness", value=value, tolerance=tolerance)
    return task


def hold(task: Task, user: User) -> uuid.UUID:
    """An open assignment of a check, as the server draws one."""
    rater = Rater.objects.get(user=user)
    now = timezone.now()
    return Assignment.objects.create(
        task=task, rater=rater, protocol_version=task.study.protocol_version, presentation=[0],
        leased_at=now, expires_at=now,
    ).pk  # fmt: skip


def counters(study: Study) -> tuple[int, int, int]:
    study.refresh_from_db()
    task = Task.objects.get(external_id="bell")
    return study.n_tasks, task.n_judgments, task.n_leases


@pytest.mark.parametrize("kind", [Task.Kind.TRAINING, Task.Kind.GOLD, Task.Kind.TRAP, Task.Kind.REPEAT])
def test_only_regular_tasks_are_in_the_queue(study, kind):
    Task.objects.filter(external_id="bell").update(kind=kind)
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    assert Task.objects.get(pk=lease.task_id).external_id == "horn"
    assert leases.lease_next(user, study.slug, holding=[lease.id])[1] is None


def test_a_check_takes_any_number_of_answers_and_moves_no_counter_of_tasks(study):
    gold = make_check("bell")
    for value in (4, 5, 1):
        user = factories.member(study)
        judgments.submit(user, hold(gold, user), rating(value))
    assert list(CheckOutcome.objects.order_by("pk").values_list("kind", "passed", "score")) == [
        (Task.Kind.GOLD, True, 1.0),
        (Task.Kind.GOLD, True, 1.0),
        (Task.Kind.GOLD, False, 0.0),
    ]
    assert Judgment.objects.filter(effective=True, surplus=False).count() == 3
    assert set(Rater.objects.values_list("n_judgments", "n_checks", "n_tasks_filled")) == {(0, 1, 0)}
    assert counters(study)[1:] == (0, 0)
    mark(study, "exclude", Judgment.objects.first())
    mark(study, "restore", Judgment.objects.first())
    assert counters(study)[1:] == (0, 0)


def test_answering_a_check_runs_the_statements_of_any_other_answer(study, django_assert_num_queries):
    gold, user = make_check("bell"), factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    for assignment in (hold(gold, user), lease.id):
        with django_assert_num_queries(2):
            judgments.submit(user, assignment, rating(4))


def test_a_changed_answer_has_the_outcome_of_the_check(study):
    gold, user = make_check("bell"), factories.member(study)
    assignment = hold(gold, user)
    judgments.submit(user, assignment, rating(1))
    revisions.revise(user, assignment, rating(5))
    outcome = CheckOutcome.objects.get()
    assert (outcome.passed, outcome.judgment.revision) == (True, 2)


def test_a_task_that_becomes_gold_takes_its_votes_out_of_the_counters_and_back(study):
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, rating(4))
    task = Task.objects.get(pk=lease.task_id)
    GoldKey.objects.create(task=task, question_key="correctness", value=4)
    rater = Rater.objects.filter(user=user).values_list("n_judgments", "n_checks", "n_tasks_filled")
    task_kinds.set_kind(study, [task.pk], kind="gold", actor=None)
    study.refresh_from_db()
    assert (study.n_tasks, rater.get()) == (1, (0, 1, 0))
    task_kinds.set_kind(study, [task.pk], kind="regular", actor=None)
    study.refresh_from_db()
    assert (study.n_tasks, rater.get()) == (2, (1, 0, 1))


def test_a_check_that_somebody_has_met_stays_one(study):
    gold, user = make_check("bell"), factories.member(study)
    assignment = hold(gold, user)
    assert task_kinds.set_kind(study, [gold.pk], kind="regular", actor=None).met == 1
    judgments.submit(user, assignment, rating(4))
    assert task_kinds.set_kind(study, [gold.pk], kind="regular", actor=None).met == 1
    gold.refresh_from_db()
    assert gold.kind == Task.Kind.GOLD


def test_leases_that_were_open_when_their_task_became_gold_end_without_a_trace(study):
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    task = Task.objects.get(pk=lease.task_id)
    GoldKey.objects.create(task=task, question_key="correctness", value=4)
    task_kinds.set_kind(study, [task.pk], kind="gold", actor=None)
    leases.give_back(user, lease.id)
    task.refresh_from_db()
    assert task.n_leases == 0
