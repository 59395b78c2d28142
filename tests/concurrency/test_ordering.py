"""Draws by a policy keep what leases promise, whatever runs at once, also while priorities are being written."""

from __future__ import annotations

import random

import pytest

from annotation.models import Assignment, Judgment, Study, Task, User
from annotation.rating import judgments, leases, task_selection
from tests.annotation.importing.answers import rating
from tests.concurrency.conftest import race_shows
from tests.concurrency.test_overlap import make_study, one_raters_day, over_assigned, refused_last_places

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def ordered(n_tasks: int, n_raters: int) -> tuple[Study, list[User]]:
    study, users = make_study(n_tasks, n_raters)
    return task_selection.set_ordering(study, actor=None, among=4), users


def test_no_task_holds_more_than_its_overlap_while_priorities_change(at_once):
    study, users = ordered(20, 10)
    tasks = list(study.tasks.values_list("pk", flat=True))

    def reckon() -> int:
        chance = random.Random(5)
        return sum(
            task_selection.set_priorities(study, {pk: chance.random() for pk in tasks}) for _ in range(20)
        )

    days = [one_raters_day(study, user, seed) for seed, user in enumerate(users)]
    results = at_once([*days, reckon])
    assert not [result for result in results if isinstance(result, Exception)]
    assert over_assigned(study) == []
    assert Judgment.objects.filter(study=study).count() == sum(results[:-1])
    drawn = Assignment.objects.filter(task__study=study).values_list(
        "inclusion_probability", "policy__number"
    )
    assert all(chance and 0 < chance <= 1 and version == 1 for chance, version in drawn)


def test_raters_get_every_task_once_up_to_the_last(at_once):
    """However many are after the same few. Who asks while others hold the last ones asks again."""
    study, users = ordered(10, 6)
    Task.objects.filter(study=study).update(overlap=6)

    def rate_all(user: User):
        def work() -> int:
            n = 0
            for _ in range(200):
                if (lease := leases.lease_next(user, study.slug)[1]) is not None:
                    judgments.submit(user, lease.id, rating(3))
                    n += 1
                if n == 10:
                    break
            return n

        return work

    assert at_once([rate_all(user) for user in users]) == [10] * 6
    met = list(Judgment.objects.filter(study=study).values_list("task_id", "rater_id"))
    assert len(met) == len(set(met)) == 60


def test_the_race_shows_when_a_draw_takes_no_lock(at_once, unguarded):
    """Negative control: without the row lock, raters race for the last place and only the constraint stands."""
    unguarded(task_selection, "_SELECT_AND_LOCK", "FOR UPDATE OF t SKIP LOCKED")
    task_selection._statement.cache_clear()
    try:
        race_shows(lambda: refused_last_places(at_once, *ordered(1, 12)))
    finally:
        task_selection._statement.cache_clear()
