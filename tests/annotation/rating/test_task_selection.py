"""Draws by a study's policy: what may be drawn, the chance that is stored, and that it can be drawn again."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import access
from annotation.models import Assignment, BarredRater, Rater, Study, Task, TaskCandidate
from annotation.rating import judgments, leases, task_selection
from annotation.rating.rules import ordering as rules
from annotation.rating.rules.ordering import WINDOW
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


def study_of(n: int, **settings) -> Study:
    """Tasks of one item, in the order of their priorities."""
    study = factories.StudyFactory(overlap=2)
    task = factories.rating_task(study, "task-0")
    more = [
        Task(study=study, item_version=task.item_version, external_id=f"task-{k}", overlap=2,
             shuffle_key=rules_key(k), priority=1 - k / n)
        for k in range(1, n)
    ]  # fmt: skip
    Task.objects.filter(pk=task.pk).update(priority=1.0, shuffle_key=rules_key(0))
    slot = task.slots.get()
    made = Task.objects.bulk_create(more)
    TaskCandidate.objects.bulk_create(
        TaskCandidate(task=one, slot=0, candidate_id=slot.candidate_id) for one in made
    )
    return task_selection.set_ordering(study, actor=None, **{"uniform": 0.25, "among": 4, **settings})


def rules_key(k: int) -> float:
    return (k * 0.618_033_988_75) % 1.0


def expected(study: Study, rater: Rater) -> dict[int, float]:
    """The chance of every task that a rater may be given, reckoned from the whole list of them."""
    met = Assignment.objects.filter(rater=rater, state__in=(1, 2, 3)).values("task")
    barred = BarredRater.objects.filter(rater=rater).values("task")
    free = Task.objects.filter(study=study, wants_more=True).exclude(pk__in=met).exclude(pk__in=barred)
    policy = rules.settings(study.rules)
    first = list(free.order_by("-priority", "shuffle_key").values_list("pk", flat=True))[: policy.among]
    circle = list(free.order_by("shuffle_key").values_list("pk", "shuffle_key"))
    n, found = len(circle), {}
    for place, (pk, key) in enumerate(circle):
        arc = 1.0 if n <= WINDOW else (key - circle[place - WINDOW][1]) % 1.0
        uniform = arc / min(n, WINDOW)
        found[pk] = (1 - policy.uniform) * (pk in first) / len(first) + policy.uniform * uniform
    return found


def drawn(study: Study, user, *, times: int) -> Counter[tuple[int, float]]:
    rater = access.rater_at_work(user, study.slug)
    found = (task_selection.pick_task(rater, assignment=uuid.uuid4()) for _ in range(times))
    return Counter((picked.task_id, picked.inclusion_probability) for picked in found)


@pytest.mark.parametrize("n", [1, 3, WINDOW, WINDOW + 1, 70])
def test_the_chance_of_every_draw_is_what_the_whole_list_says(n):
    study = study_of(n)
    user = factories.member(study)
    rater = Rater.objects.get(user=user)
    if n > 40:
        BarredRater.objects.create(task=study.tasks.get(external_id="task-1"), rater=rater, reason="reviews")
        leases.skip(user, leases.lease_next(user, study.slug)[1].id, reason="audio")
    chances = expected(study, rater)
    assert sum(chances.values()) == pytest.approx(1)
    for (task, chance), _ in drawn(study, user, times=60).items():
        assert chance == pytest.approx(chances[task], rel=1e-9)


def test_tasks_come_as_often_as_their_chances_say():
    study, n = study_of(40), 800
    user = factories.member(study)
    times = Counter({task: count for (task, _), count in drawn(study, user, times=n).items()})
    chances = expected(study, Rater.objects.get(user=user))
    surprise = sum((times[task] - n * p) ** 2 / (n * p) for task, p in chances.items())
    assert surprise < 80  # chi-squared with 39 degrees of freedom: one in ten thousand is above


def test_it_is_stored_with_the_assignment_which_can_be_drawn_again():
    study = study_of(50)
    user = factories.member(study)
    lease = leases.lease_next(user, study.slug)[1]
    stored = Assignment.objects.get(pk=lease.id)
    assert stored.policy == task_selection.ordering_policy_of(study)
    leases.give_back(user, lease.id)
    again = task_selection.pick_task(access.rater_at_work(user, study.slug), assignment=lease.id)
    assert (again.task_id, again.inclusion_probability) == (stored.task_id, stored.inclusion_probability)


def test_the_first_by_priority_come_first_and_nothing_comes_twice():
    study = study_of(12)
    user = factories.member(study)
    seen = []
    while (lease := leases.lease_next(user, study.slug)[1]) is not None:
        seen.append(lease.task_id)
        judgments.submit(user, lease.id, rating(3))
    assert sorted(seen) == sorted(study.tasks.values_list("pk", flat=True))


def test_whoever_has_met_all_the_first_ones_draws_from_all(monkeypatch):
    monkeypatch.setattr(
        task_selection,
        "_HIGHEST_PRIORITY",
        task_selection._HIGHEST_PRIORITY.replace(f"LIMIT {task_selection._LOOK_THROUGH}", "LIMIT 5"),
    )
    task_selection._statement.cache_clear()
    try:
        study = study_of(8, uniform=0.2)
        user = factories.member(study)
        for task in study.tasks.order_by("-priority")[:5]:
            BarredRater.objects.create(task=task, rater=Rater.objects.get(user=user), reason="reviews")
        assert {round(1 / chance, 6) for _, chance in drawn(study, user, times=20)} == {3}
    finally:
        task_selection._statement.cache_clear()


def test_a_policy_costs_no_more_queries_than_the_plain_order():
    study = study_of(50)
    user = factories.member(study)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            lease = leases.lease_next(user, study.slug)[1]
        leases.give_back(user, lease.id)
        return len(captured)

    queries()  # the protocol is read once
    Rater.objects.update(cursor=0.0)
    counts = {queries() for _ in range(3)}
    task_selection.set_ordering(study, actor=None, on=False)
    assert counts == {queries()}
    assert Assignment.objects.latest("leased_at").policy is None
