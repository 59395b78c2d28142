"""Overlap is exact whatever runs at once. Each lock has a negative control: without it the race must show."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from annotation.errors import DomainError
from annotation.models import Assignment, Judgment, Study, Task, User
from annotation.rating import judgments, leases, task_selection
from tests import factories
from tests.annotation.importing.answers import comparison, rating
from tests.concurrency.conftest import integrity_errors, race_shows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]

OVERLAP = 3


def make_study(n_tasks: int, n_raters: int) -> tuple[Study, list[User]]:
    study = factories.StudyFactory(overlap=OVERLAP)
    for n in range(n_tasks):
        factories.rating_task(study, f"task-{n}")
    return study, [factories.member(study) for _ in range(n_raters)]


def over_assigned(study: Study) -> list[int]:
    """Tasks whose rows, counted one by one, hold more than the overlap, or whose counters do not tell the truth."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT t.id FROM annotation_task t WHERE t.study_id = %s AND (
                (SELECT count(*) FROM annotation_judgment j WHERE j.task_id = t.id AND j.effective AND NOT j.excluded)
                    <> t.n_judgments
                OR (SELECT count(*) FROM annotation_assignment a WHERE a.task_id = t.id AND a.state = 1) <> t.n_leases
                OR t.n_judgments + t.n_leases > t.overlap)
            """,
            [study.pk],
        )
        return [row[0] for row in cursor.fetchall()]


def one_raters_day(study: Study, user: User, seed: int):
    """Rate, skip, give back, come late: whatever a rater may do, in any order."""
    chance = random.Random(seed)

    def work() -> int:
        done = 0
        for _ in range(40):
            _, lease = leases.lease_next(user, study.slug)
            if lease is None:
                break
            match chance.random():
                case x if x < 0.7:
                    judgments.submit(user, lease.id, rating(chance.randint(1, 5)))
                    done += 1
                case x if x < 0.8:
                    leases.skip(user, lease.id, reason="audio")
                case x if x < 0.9:
                    leases.give_back(user, lease.id)
                case _:
                    Assignment.objects.filter(pk=lease.id, state=1).update(
                        expires_at=timezone.now() - timedelta(seconds=1)
                    )
                    leases.expire_due()
                    judgments.submit(user, lease.id, rating(3))
                    done += 1
        return done

    return work


def test_no_task_ever_holds_more_than_its_overlap(at_once):
    study, users = make_study(20, 12)
    results = at_once([one_raters_day(study, user, seed) for seed, user in enumerate(users)])
    assert not [result for result in results if isinstance(result, Exception)]
    assert over_assigned(study) == []
    assert Judgment.objects.filter(study=study).count() == sum(results)


def test_no_rater_meets_a_task_twice(at_once):
    study, users = make_study(10, 8)

    def rate_all(user: User):
        def work() -> None:
            while (lease := leases.lease_next(user, study.slug)[1]) is not None:
                judgments.submit(user, lease.id, rating(3))

        return work

    results = at_once([rate_all(user) for user in users])
    assert results == [None] * len(users)
    met = list(Judgment.objects.filter(study=study).values_list("task_id", "rater_id"))
    assert len(met) == len(set(met)) == 10 * OVERLAP


def refused_last_places(at_once, study: Study, users: list[User]) -> list[IntegrityError]:
    """What the constraint refuses where raters without a lock race for the last place of a task."""
    refused = integrity_errors(at_once([partial(leases.lease_next, user, study.slug) for user in users]))
    assert over_assigned(study) == []
    assert all("task_overlap_never_exceeded" in str(error) for error in refused)
    return refused


def test_the_race_shows_when_a_lease_takes_no_lock(at_once, unguarded):
    """Negative control: without the row lock, raters race for the last place and only the constraint stands."""
    unguarded(task_selection, "_LOCK", "FOR UPDATE OF t SKIP LOCKED")
    race_shows(lambda: refused_last_places(at_once, *make_study(1, 12)))


def test_twenty_replays_at_once_leave_one_judgment(at_once):
    study, users = make_study(1, 1)
    _, lease = leases.lease_next(users[0], study.slug)
    submission = rating(4)
    receipts = at_once([lambda: judgments.submit(users[0], lease.id, submission)] * 20)
    assert [receipt.replayed for receipt in receipts].count(False) == 1
    assert Judgment.objects.count() == 1


def test_two_windows_with_one_task_leave_one_judgment_and_one_conflict(at_once):
    study, users = make_study(1, 1)
    _, lease = leases.lease_next(users[0], study.slug)
    results = at_once(
        [lambda value=value: judgments.submit(users[0], lease.id, rating(value)) for value in (1, 5)]
    )
    conflicts = [result for result in results if isinstance(result, DomainError)]
    assert [conflict.code for conflict in conflicts] == ["already_submitted"]
    assert Judgment.objects.count() == 1


def test_the_race_shows_when_a_submit_has_no_guard(at_once, unguarded):
    """Negative control: without the assignment's state as guard both windows get in, until a constraint stops one."""
    unguarded(judgments, "_RECORD", "AND state = %(state_before)s")

    def attempt() -> list[IntegrityError]:
        study, users = make_study(1, 1)
        _, lease = leases.lease_next(users[0], study.slug)
        results = at_once([partial(judgments.submit, users[0], lease.id, rating(2))] * 8)
        assert Judgment.objects.filter(study=study).count() == 1
        return integrity_errors(results)

    race_shows(attempt)


@pytest.mark.parametrize("turn", range(5))
def test_a_late_answer_and_a_new_lease_never_share_the_last_place(at_once, turn):
    study = factories.StudyFactory(overlap=1)
    factories.rating_task(study, "only")
    late, other = factories.member(study), factories.member(study)
    _, lease = leases.lease_next(late, study.slug)
    Assignment.objects.filter(pk=lease.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    leases.expire_due()
    at_once(
        [
            lambda: judgments.submit(late, lease.id, rating(2)),
            lambda: leases.lease_next(other, study.slug),
        ]
    )
    assert over_assigned(study) == []
    assert Judgment.objects.filter(study=study).count() == 1


def test_the_pairs_of_a_full_study_are_balanced(at_once):
    study = factories.StudyFactory(preset="cmi-pref", overlap=4)
    for n in range(6):
        factories.comparison_task(study, f"pair-{n}")
    users = [factories.member(study) for _ in range(10)]

    def rate_all(user: User):
        def work() -> None:
            while (lease := leases.lease_next(user, study.slug)[1]) is not None:
                judgments.submit(user, lease.id, comparison())

        return work

    at_once([rate_all(user) for user in users])
    for task in Task.objects.filter(study=study):
        orders = [tuple(j.presentation) for j in task.judgments.all()]
        assert (orders.count((0, 1)), orders.count((1, 0))) == (2, 2)
