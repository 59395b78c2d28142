"""Corrections while raters, researchers and other experts are at work: each meeting has one outcome, and none waits
for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from django.db import connection, transaction

from annotation.errors import Conflict
from annotation.items import locks
from annotation.models import Assignment, Item, ItemVersion, Judgment, ReviewCase, Study, Task, User
from annotation.rating import exclusions, judgments, leases, overlap, revisions
from annotation.review import adjudication, cases, returns
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, give, judged, leased, people, true_counters, withdraw
from tests.annotation.importing.importing import bring, write
from tests.concurrency.test_overlap import one_raters_day

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def a_case(n_raters: int = 3) -> tuple[Study, Task, User, ReviewCase, list[User]]:
    study = factories.StudyFactory(overlap=3)
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    users = people(study, n_raters)
    return study, task, expert, judged(expert, task), users


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction the first look is remembered
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return bool(cursor.fetchone()[0])


@contextmanager
def meanwhile(call: Callable[[], object]) -> Iterator[list[object]]:
    """Run this in another connection once the body is through and before it commits; it has to wait for it."""
    results: list[object] = []

    def other() -> None:
        try:
            results.append(call())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=other)
    with transaction.atomic():
        yield results
        thread.start()
        for _ in range(200):
            if waits_for_a_lock() or not thread.is_alive():
                break
            thread.join(0.02)
    thread.join(30)


def test_a_vote_at_the_moment_of_the_correction_is_surplus_on_the_task_withdrawn():
    study, task, expert, one, (user, *_) = a_case()
    lease = leased(user, task)
    with meanwhile(partial(judgments.submit, user, lease.pk, rating(2))) as results:
        adjudication.correct_item(expert, one.pk, corrections(one))
    [receipt] = results
    assert receipt.surplus
    kept = Judgment.objects.get(assignment=lease)
    assert (kept.surplus, kept.answers.filter(counted=True).exists()) == (True, False)
    true_counters(study)


def test_the_race_shows_when_leases_are_not_locked(monkeypatch):
    """Negative control: with the tasks' locks alone the vote slips in behind the exclusion, and counts."""
    monkeypatch.setattr(locks, "end_leases", lambda task_ids, **rater: overlap.lock_tasks(task_ids))
    _, task, expert, one, (user, *_) = a_case()
    lease = leased(user, task)
    with meanwhile(partial(judgments.submit, user, lease.pk, rating(2))) as results:
        adjudication.correct_item(expert, one.pk, corrections(one))
    assert not results[0].surplus
    task.refresh_from_db()
    assert (task.state, task.n_judgments) == (Task.State.WITHDRAWN, 1)


def test_a_lease_granted_meanwhile_is_not_waited_for_with_its_task_in_hand(monkeypatch):
    """Between the leases' locks and the task's another lease comes in, and is being answered: it holds its assignment
    and is about to ask for its task, which the correction has by then. Waiting for it would never end."""
    study, task, expert, one, (user, *_) = a_case()
    answering, locked = threading.Event(), threading.Event()
    lock_leases, lock_places = locks._lock_leases, overlap.lock_tasks

    def answer() -> None:
        lease = leased(user, task)
        with transaction.atomic():
            Assignment.objects.select_for_update().get(pk=lease.pk)
            answering.set()
            locked.wait(10)
            Task.objects.select_for_update(no_key=True).get(pk=task.pk)
        connection.close()

    rater = threading.Thread(target=answer)

    def lock_and_let_one_in(task_ids, rater_id):
        lock_leases(task_ids, rater_id)
        if rater.ident is None:
            rater.start()
            answering.wait(10)

    def lock_and_tell(task_ids):
        places = lock_places(task_ids)
        locked.set()
        return places

    monkeypatch.setattr(locks, "_lock_leases", lock_and_let_one_in)
    monkeypatch.setattr(overlap, "lock_tasks", lock_and_tell)
    adjudication.correct_item(expert, one.pk, corrections(one))
    rater.join(10)
    assert Assignment.objects.get(rater__user=user).state == Assignment.State.EXPIRED
    true_counters(study)


def test_a_change_at_the_moment_of_the_correction_is_refused_or_excluded(at_once):
    study, task, expert, one, (user, *_) = a_case()
    said = give(user, task)
    results = at_once(
        [
            partial(adjudication.correct_item, expert, one.pk, corrections(one)),
            partial(revisions.revise, user, said.assignment_id, rating(1)),
        ]
    )
    assert isinstance(results[0], ItemVersion)
    assert not isinstance(results[1], Exception) or results[1].code == "not_changeable"
    assert not Judgment.objects.filter(task=task, excluded=False).exclude(origin=4).exists()
    true_counters(study)


def test_two_experts_decide_one_case_once(at_once):
    study, _, expert, one, _ = a_case()
    results = at_once([partial(adjudication.correct_item, expert, one.pk, corrections(one))] * 4)
    assert [isinstance(result, ItemVersion) for result in results].count(True) == 1
    assert {result.code for result in results if isinstance(result, Conflict)} == {"resolved"}
    assert ItemVersion.objects.count() == 2
    true_counters(study)


def test_two_cases_of_one_item_are_decided_one_after_the_other(at_once):
    """A case left over from an earlier version is closed with the one that is decided, or comes too late."""
    study, _, expert, one, _ = a_case()
    other = factories.member(study, "expert")
    version = ItemVersion.objects.create(item=one.item, number=9, content_sha256="0" * 64)
    stale = ReviewCase.objects.create(study=study, item=one.item, item_version=version)
    cases.claim(other, stale.pk)
    results = at_once(
        [
            partial(adjudication.correct_item, expert, one.pk, corrections(one)),
            partial(adjudication.correct_item, other, stale.pk, corrections(stale)),
        ]
    )
    assert isinstance(results[0], ItemVersion)
    assert results[1].code in ("version_changed", "resolved")
    true_counters(study)


def test_a_correction_and_a_withdrawal_come_one_after_the_other(at_once):
    study, _, expert, one, _ = a_case()
    item = Item.objects.get(pk=one.item_id)
    results = at_once(
        [
            partial(adjudication.correct_item, expert, one.pk, corrections(one)),
            partial(withdraw, item),
        ]
    )
    assert results[1] is None
    assert isinstance(results[0], ItemVersion) or results[0].code in ("resolved", "item_withdrawn")
    assert not Task.objects.filter(study=study, wants_more=True).exists()
    true_counters(study)


def test_tasks_imported_at_the_moment_of_a_correction_are_about_the_version_that_stands(at_once, tmp_path):
    study = factories.StudyFactory(overlap=2)
    bring(study, write(tmp_path / "x.csv", {"rater_id": "ann", "question": "correctness", "value": 4}))
    expert = factories.member(study, "expert")
    one = judged(expert, Task.objects.get())
    more = write(tmp_path / "y.csv", {}, {"system": "s2", "answer": "No"})
    results = at_once(
        [partial(adjudication.correct_item, expert, one.pk, corrections(one)), partial(bring, study, more)]
    )
    version, job = results
    assert (job.state, isinstance(version, ItemVersion)) == ("done", True)
    live = Task.objects.filter(study=study).exclude(state=Task.State.WITHDRAWN)
    assert {task.item_version_id for task in live} == {version.pk}
    assert live.count() == 2
    true_counters(study)


def test_corrections_undo_marks_and_sweeps_beside_raters_keep_every_counter_true(at_once):
    study = factories.StudyFactory(overlap=3)
    tasks = [factories.rating_task(study, f"task-{n}") for n in range(4)]
    experts, users = [factories.member(study, "expert") for _ in tasks], people(study, 8)
    for task in tasks:
        give(users[0], task)
    found = [judged(expert, task) for expert, task in zip(experts, tasks, strict=True)]
    given = list(Judgment.objects.filter(study=study).exclude(origin=4))

    def loop(expert: User, one: ReviewCase) -> None:
        for turn in range(3):
            adjudication.correct_item(expert, one.pk, corrections(one, texts={"question": f"Turn {turn}?"}))
            adjudication.undo_decision(expert, one.pk)

    def mark(action: str) -> None:
        chosen = Judgment.objects.filter(pk__in=[one.pk for one in given])
        exclusions.exclude_or_restore(chosen, study=study, action=action, reason="careless", actor=None)

    work = [partial(loop, expert, one) for expert, one in zip(experts[:3], found[:3], strict=True)]
    work += [one_raters_day(study, user, seed) for seed, user in enumerate(users[1:])]
    work += [partial(mark, "exclude"), partial(mark, "restore"), leases.expire_due]
    work += [partial(returns.return_to_pool, experts[3], found[3].pk, "More.", votes=2)]
    results = at_once(work)
    # A rater whose lease ended with its task cannot skip it any more; no vote is refused.
    refused = [result for result in results if isinstance(result, Exception)]
    assert {error.code for error in refused if isinstance(error, Conflict)} <= {"closed"}
    assert [error for error in refused if not isinstance(error, Conflict)] == []
    true_counters(study)
