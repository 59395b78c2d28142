"""Leasing tasks: overlap, order, cursor, expiry."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput, NotAllowed, NotFound
from annotation.models import Assignment, Rater, Study, Task
from annotation.models.people import Role
from annotation.rating import judgments, leases
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=2)
    for n in range(5):
        factories.rating_task(study, f"task-{n}")
    return study


def take(user, study, *, holding=()):
    return leases.lease_next(user, study.slug, holding=holding)[1]


def test_it_leases_a_task_and_gives_it_again_to_a_browser_that_lost_it(study):
    user = factories.member(study)
    assignment = take(user, study)
    assert take(user, study).id == assignment.id
    task = Task.objects.get(pk=assignment.task_id)
    assert (task.n_leases, task.n_judgments, task.wants_more) == (1, 0, True)


def test_it_fetches_ahead_up_to_three_open_tasks(study):
    user = factories.member(study)
    held: list = []
    for _ in range(leases.MAX_OPEN_LEASES):
        held.append(take(user, study, holding=held).id)
    assert len(set(held)) == 3
    with pytest.raises(Conflict, match="You hold 3 tasks"):
        take(user, study, holding=held)


def test_it_shows_nobody_a_task_twice_and_ends_when_all_are_done(study):
    user = factories.member(study)
    seen = []
    while (assignment := take(user, study)) is not None:
        seen.append(assignment.task_id)
        judgments.submit(user, assignment.id, rating(3))
    assert len(seen) == len(set(seen)) == 5


def test_it_never_leases_more_than_the_overlap(study):
    users = [factories.member(study) for _ in range(4)]
    granted = [take(user, study, holding=held) for user in users for held in ([],)]
    per_task = [sum(1 for a in granted if a and a.task_id == task.pk) for task in study.tasks.all()]
    assert max(per_task) <= 2


def test_the_database_refuses_more_than_the_overlap(study):
    task = study.tasks.first()
    with pytest.raises(IntegrityError, match="task_overlap_never_exceeded"), transaction.atomic():
        Task.objects.filter(pk=task.pk).update(n_leases=2, n_judgments=1)


def test_it_walks_a_listed_study_in_the_order_of_its_tasks():
    study = factories.StudyFactory(order=Study.Order.LISTED)
    for n in range(4):
        task = factories.rating_task(study, f"task-{n}")
        Task.objects.filter(pk=task.pk).update(shuffle_key=float(n))
    user = factories.member(study)
    names = []
    while (assignment := take(user, study)) is not None:
        names.append(Task.objects.get(pk=assignment.task_id).external_id)
        judgments.submit(user, assignment.id, rating(3))
    assert names == ["task-0", "task-1", "task-2", "task-3"]


def test_raters_of_a_shuffled_study_start_at_different_places(study):
    cursors = {Rater.objects.get(user=factories.member(study)).cursor for _ in range(5)}
    assert len(cursors) == 5


def test_it_finds_tasks_before_the_place_where_the_rater_began(study):
    user = factories.member(study)
    Rater.objects.filter(user=user).update(cursor=0.999999)
    assert take(user, study) is not None


def test_both_orders_of_a_pair_are_shown_equally_often():
    study = factories.StudyFactory(preset="cmi-pref", overlap=10)
    task = factories.comparison_task(study, "pair")
    orders = [take(factories.member(study), study).presentation for _ in range(10)]
    assert orders.count([0, 1]) == orders.count([1, 0]) == 5
    task.refresh_from_db()
    assert task.order_balance == 0


def test_an_expired_pair_gives_its_order_back():
    study = factories.StudyFactory(preset="cmi-pref", overlap=2)
    task = factories.comparison_task(study, "pair")
    first = take(factories.member(study), study)
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    leases.expire_due()
    orders = [take(factories.member(study), study).presentation for _ in range(2)]
    assert sorted(orders) == [[0, 1], [1, 0]]
    assert Assignment.objects.get(pk=first.id).state == Assignment.State.EXPIRED
    task.refresh_from_db()
    assert (task.n_leases, task.order_balance) == (2, 0)


def test_expiry_opens_the_task_again_also_to_the_same_rater():
    study = factories.StudyFactory(overlap=1)
    factories.rating_task(study, "only")
    user = factories.member(study)
    first = take(user, study)
    assert take(factories.member(study), study) is None
    Assignment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert leases.expire_due() == 1
    second = take(user, study)
    assert second.task_id == first.task_id
    assert second.id != first.id


def test_a_heartbeat_extends_the_lease_which_does_not_expire_until_it_is_given_back(study):
    user = factories.member(study)
    assignment = take(user, study)
    Assignment.objects.update(expires_at=timezone.now() + timedelta(seconds=5))
    assert leases.expire_due() == 0
    assert leases.extend(user, assignment.id).expires_at > timezone.now() + timedelta(minutes=14)
    leases.give_back(user, assignment.id)
    assert Task.objects.get(pk=assignment.task_id).n_leases == 0
    with pytest.raises(Conflict, match="not open any more"):
        leases.extend(user, assignment.id)


def test_a_skipped_task_does_not_come_back_to_that_rater():
    study = factories.StudyFactory(overlap=1)
    factories.rating_task(study, "only")
    user = factories.member(study)
    assignment = take(user, study)
    leases.skip(user, assignment.id, reason="audio")
    leases.skip(user, assignment.id, reason="audio")
    assert take(user, study) is None
    assert take(factories.member(study), study) is not None
    assert Rater.objects.get(user=user).n_skips == 1


def test_a_skip_needs_one_of_the_protocols_reasons(study):
    user = factories.member(study)
    assignment = take(user, study)
    with pytest.raises(InvalidInput, match="not a reason"):
        leases.skip(user, assignment.id, reason="bored")
    assert Task.objects.get(pk=assignment.task_id).n_leases == 1


@pytest.mark.parametrize("state", [Study.State.DRAFT, Study.State.PAUSED, Study.State.CLOSED])
def test_only_a_running_study_hands_out_tasks(study, state):
    user = factories.member(study)
    Study.objects.update(state=state)
    with pytest.raises(Conflict, match="not open for rating"):
        take(user, study)


def test_only_active_raters_of_the_study_get_tasks(study):
    paused = factories.member(study)
    Rater.objects.filter(user=paused).update(state=Rater.State.PAUSED)
    for user, refusal in (
        (paused, NotAllowed),
        (factories.member(study, Role.RESEARCHER), NotAllowed),
        (factories.UserFactory(), NotFound),
    ):
        with pytest.raises(refusal):
            take(user, study)


def test_somebody_elses_assignment_is_not_there(study):
    assignment = take(factories.member(study), study)
    other = factories.member(study)
    for call in (leases.extend, leases.give_back):
        with pytest.raises(NotFound):
            call(other, assignment.id)
