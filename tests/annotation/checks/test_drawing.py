"""Checks among the tasks that a rater gets: when they come, which, and that nobody can tell them."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from django.db import connection, transaction

from annotation import access
from annotation.checks import drawing, rules
from annotation.checks.rules import Injection
from annotation.checks.settings import set_injection
from annotation.errors import InvalidInput
from annotation.models import Assignment, CheckOutcome, GoldKey, Rater, Study, Task, TaskCandidate, User
from annotation.rating import briefings, judgments, leases, task_selection
from tests import factories
from tests.annotation.importing.answers import comparison, rating

pytestmark = pytest.mark.django_db
OFTEN = {"least_between": 0, "repeat_after": 1}


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=1)
    for n in range(12):
        factories.rating_task(study, f"task-{n}")
    return study


def make_pool(study: Study, kind: int, n: int) -> None:
    for task in study.tasks.filter(kind=Task.Kind.REGULAR).order_by("-pk")[:n]:
        Task.objects.filter(pk=task.pk).update(kind=kind)
        GoldKey.objects.create(task=task, question_key="correctness", value=4)
    Study.objects.update(n_tasks=study.tasks.filter(kind=Task.Kind.REGULAR).count())


def kinds_met(study: Study, user: User) -> list[int]:
    """The kinds of all tasks until the end of the queue, each answered."""
    kinds = []
    while (lease := leases.lease_next(user, study.slug)[1]) is not None:
        judgments.submit(user, lease.id, rating(4))
        kinds.append(Task.objects.get(pk=lease.task_id).kind)
    return kinds


def test_gold_comes_at_the_places_of_the_rule_and_each_once(study):
    make_pool(study, Task.Kind.GOLD, 4)
    set_injection(study, actor=None, gold=0.3, **OFTEN)
    user = factories.member(study)
    kinds = kinds_met(study, user)
    rater = Rater.objects.get(user=user)
    injection = Injection(gold=0.3, **OFTEN)
    expected = [
        Task.Kind.GOLD if rules.check_at(injection, n, seed=study.seed, rater=rater.pk) else Task.Kind.REGULAR
        for n in range(len(kinds))
    ]
    assert kinds == expected
    assert (kinds.count(Task.Kind.REGULAR), rater.n_judgments) == (8, 8)
    assert rater.n_checks == rater.n_drawn - 8 == CheckOutcome.objects.count() > 1


def test_an_empty_pool_gives_regular_tasks(study):
    make_pool(study, Task.Kind.GOLD, 1)
    set_injection(study, actor=None, gold=0.5, **OFTEN)
    kinds = kinds_met(study, factories.member(study))
    assert (kinds.count(Task.Kind.GOLD), kinds.count(Task.Kind.REGULAR)) == (1, 11)


def test_the_end_of_the_queue_is_the_end_of_the_regular_tasks(study):
    make_pool(study, Task.Kind.GOLD, 11)
    set_injection(study, actor=None, gold=0.5, **OFTEN)
    kinds = kinds_met(study, factories.member(study))
    assert (kinds.count(Task.Kind.REGULAR), kinds[-1]) == (1, Task.Kind.REGULAR)


def test_repeats_are_of_own_tasks_some_answers_later_and_with_the_sides_swapped():
    study = factories.StudyFactory(preset="cmi-pref", overlap=2)
    for n in range(10):
        factories.comparison_task(study, f"pair-{n}")
    set_injection(study, actor=None, repeat=0.4, least_between=0, repeat_after=3)
    for user in (factories.member(study), factories.member(study)):
        answered = []
        while (lease := leases.lease_next(user, study.slug)[1]) is not None:
            judgments.submit(user, lease.id, comparison())
            task = Task.objects.get(pk=lease.task_id)
            if task.kind == Task.Kind.REPEAT:
                before = answered.index(task.repeats_id)
                assert len(answered) - before > 3
                first = Assignment.objects.get(rater__user=user, task=task.repeats)
                assert lease.presentation == first.presentation[::-1]
            answered.append(task.pk)
        assert len(answered) == len(set(answered)) > 10
    assert Task.objects.filter(kind=Task.Kind.REPEAT).values("repeats").distinct().count() == (
        Task.objects.filter(kind=Task.Kind.REPEAT).count()
    )
    # Whoever always chooses A chooses the other clip when the sides are swapped.
    assert set(CheckOutcome.objects.values_list("passed", flat=True)) == {None}


def test_progress_goes_up_by_one_for_every_answer_to_a_total_that_stays(study, api):
    make_pool(study, Task.Kind.GOLD, 4)
    set_injection(study, actor=None, gold=0.3, **OFTEN)
    user = factories.member(study)
    me, seen = api(user), []
    while body := me.post(f"studies/{study.slug}/next/").json():
        seen.append(body["progress"])
        if body["assignment"] is None:
            break
        judgments.submit(user, body["assignment"]["id"], rating(4))
    assert [one["done"] for one in seen] == list(range(len(seen)))
    assert {one["tasks"] for one in seen} == {11}  # eight regular ones, and three in ten are checks


def test_with_identical_pairs_no_task_has_a_waveform():
    study = factories.StudyFactory(preset="cmi-pref")
    pair = factories.comparison_task(study, "pair")
    TaskCandidate.objects.filter(task=pair, slot=1).update(candidate=pair.slots.first().candidate)
    Task.objects.filter(pk=pair.pk).update(kind=Task.Kind.IDENTICAL)
    for name in ("second", "third", "fourth"):
        factories.comparison_task(study, name)
    _, drawn = leases.lease_next(factories.member(study), study.slug)
    assert briefings.brief(drawn)["candidates"][0]["clip"]["peaks"] != "AAA="
    set_injection(study, actor=None, identical=0.5, **OFTEN)
    user = factories.member(study)
    for _ in range(2):
        _, lease = leases.lease_next(user, study.slug)
        judgments.submit(user, lease.id, comparison())
        assert {one["clip"]["peaks"] for one in briefings.brief(lease)["candidates"]} == {"AAA="}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"gold": 1.2}, "gold"),
        ({"gold": 0.3, "trap": 0.3}, "trap"),
        ({"gold": 0.2, "least_between": 5}, "least_between"),
        ({"gold": 0.01, "most_between": 20}, "most_between"),
        ({"identical": 0.1}, "identical"),
    ],
)
def test_shares_and_spacing_that_cannot_be_are_refused(study, values, field):
    with pytest.raises(InvalidInput) as refused:
        set_injection(study, actor=None, **values)
    assert field in {problem.field for problem in refused.value.problems}
    assert "injection" not in Study.objects.get().rules


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["gold", "repeat", None])
def test_a_draw_without_a_lock_waits_for_no_disk(study, kind):
    """Locks and rows are written, and what is written is waited for when it is committed."""
    make_pool(study, Task.Kind.GOLD, 4)
    user = factories.member(study)
    for _ in range(3):
        judgments.submit(user, leases.lease_next(user, study.slug)[1].id, rating(4))
    if kind:
        set_injection(study, actor=None, **{kind: 0.5}, **OFTEN)
    rater = access.rater_at_work(user, study.slug)
    turn = next(
        n
        for n in range(3, 40)
        if kind is None or rules.check_at(rater.injection, n, seed=rater.seed, rater=rater.rater_id)
    )
    rater = replace(rater, n_drawn=turn)
    waits = []
    for lock in (True, False):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = on")
            drawn = drawing.draw_check(rater, lock=lock, with_content=True)
            picked = drawn or task_selection.pick_task(
                rater, assignment=uuid4(), lock=lock, with_content=True
            )
            assert bool(drawn) == (kind is not None)
            assert picked.content is not None
            cursor.execute(
                "SELECT pg_current_xact_id_if_assigned() IS NOT NULL"
                " AND current_setting('synchronous_commit') = 'on'"
            )
            waits.append(cursor.fetchone()[0])
            transaction.set_rollback(True)
    assert waits == [True, False]
