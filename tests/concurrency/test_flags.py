"""Rules at work beside raters who vote, experts who correct, and each other."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from django.db import connection, transaction

from annotation.advisory_locks import LockKey, session_lock
from annotation.jobs import sweeps
from annotation.models import CaseReason, Item, ReviewCase, Task
from annotation.rating import exclusions
from annotation.review import cases, flagging, settings
from tests import factories
from tests.annotation.importing.reviewing import unresolved, vote, votes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


@pytest.fixture
def study():
    return factories.StudyFactory(overlap=2)


def beside(work):
    """Run it in a thread; give it time to finish, or to wait."""
    thread = threading.Thread(target=lambda: (work(), connection.close()))
    thread.start()
    thread.join(0.5)
    return thread


def test_rules_applied_twice_at_once_open_each_case_once(study, at_once):
    for n in range(10):
        task = factories.rating_task(study, f"item-{n}")
        votes(task, 1, 5, codes=("R",))
    applied = at_once([partial(flagging.apply_rules, study, actor=None)] * 4)
    assert not [result for result in applied if isinstance(result, Exception)]
    assert sum(result.n_opened for result in applied) == ReviewCase.objects.count() == 10
    assert sum(result.n_added for result in applied) == 10
    assert CaseReason.objects.count() == 20
    assert {tuple(sorted(one.rules)) for one in ReviewCase.objects.all()} == {("codes", "disagreement")}
    assert {round(one.priority, 6) for one in ReviewCase.objects.all()} == {1.75}


@pytest.fixture
def flagged_while_corrected(study):
    """Rules look at an item of which another transaction is making the next version."""

    def run() -> None:
        task = factories.rating_task(study, "a")
        votes(task, 1, 5)
        with transaction.atomic():
            item = Item.objects.select_for_update().get(pk=task.item_version.item_id)
            item.current_version = item.versions.create(number=2, content_sha256="1" * 64)
            item.save()
            applying = beside(partial(flagging.apply_rules, study, actor=None))
        applying.join(30)

    return run


def test_no_case_is_opened_for_a_version_that_is_just_replaced(flagged_while_corrected):
    flagged_while_corrected()
    assert not ReviewCase.objects.exists()


def test_one_is_when_the_item_is_not_locked(flagged_while_corrected, unguarded):
    """Negative control."""
    unguarded(cases, "_OPEN_SQL", "FOR SHARE OF i")
    flagged_while_corrected()
    assert ReviewCase.objects.exists()


@pytest.fixture
def committed_late(study):
    """A vote is given before another and committed after it, with a sweep in between and one after."""

    def run() -> None:
        late, early = factories.rating_task(study, "late"), factories.rating_task(study, "early")
        flagging.sweep_studies()
        with transaction.atomic():
            vote(late, codes=("R",))

            def meanwhile() -> None:
                vote(early, codes=("R",))
                flagging.sweep_studies()

            beside(meanwhile).join(30)
        flagging.sweep_studies()

    return run


def test_a_sweep_sees_what_was_committed_late(study, committed_late):
    committed_late()
    assert unresolved(study) == {"late": {"codes"}, "early": {"codes"}}


def trust_what_is_in_sight(monkeypatch) -> None:
    """As if no transaction were ever open."""
    heads = sweeps.visible_heads
    monkeypatch.setattr(sweeps, "visible_heads", lambda *given: (heads(*given)[0], 0, 0))


def test_it_is_lost_when_the_highest_id_in_sight_is_trusted(study, committed_late, monkeypatch):
    """Negative control."""
    trust_what_is_in_sight(monkeypatch)
    committed_late()
    assert unresolved(study) == {"early": {"codes"}}


def test_sweeps_look_at_what_is_new_and_at_everything_once_rules_change(study, monkeypatch):
    looked: list[int] = []
    look_at = flagging.flag_versions

    def counted(study, versions, **rest):
        looked.append(len(versions))
        return look_at(study, versions, **rest)

    monkeypatch.setattr(flagging, "flag_versions", counted)
    # Whatever transactions are open in the databases of other tests, on the same server.
    trust_what_is_in_sight(monkeypatch)
    tasks = [factories.rating_task(study, name) for name in "abc"]
    votes(tasks[0], 1, 2)
    flagging.sweep_studies()
    flagging.sweep_studies()
    assert looked == [3]
    vote(tasks[1], codes=("R",))
    excluded = vote(tasks[2], 1)
    Task.objects.filter(pk=tasks[2].pk).update(n_judgments=1)
    flagging.sweep_studies()
    assert (looked, unresolved(study)) == ([3, 2], {"b": {"codes"}})
    named = exclusions.judgments_by_client_id(study, [excluded.client_id])
    exclusions.exclude_or_restore(named, study=study, action="exclude", reason="careless", actor=None)
    flagging.sweep_studies()
    assert looked == [3, 2, 1]
    settings.change_review_settings(study, actor=None, flags={"disagreement": {"variance": 0.4}})
    flagging.sweep_studies()
    assert looked == [3, 2, 1, 3]
    assert unresolved(study) == {"a": {"disagreement"}, "b": {"codes"}}


def test_a_second_sweep_at_the_same_time_does_nothing(study):
    vote(factories.rating_task(study, "a"), codes=("R",))
    with session_lock(LockKey.FLAG_SWEEP) as alone:
        assert alone
        beside(flagging.sweep_studies).join(30)
    assert not ReviewCase.objects.exists()
    assert flagging.sweep_studies().n_opened == 1
