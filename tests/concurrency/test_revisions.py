"""Votes changed at the same moment by the same rater, or excluded while they are changed."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from annotation import access
from annotation.errors import DomainError
from annotation.models import Answer, Judgment, Task
from annotation.rating import exclusions, judgments, leases, overlap, revisions
from tests import factories
from tests.annotation.importing.answers import rating
from tests.concurrency.conftest import integrity_errors, race_shows
from tests.concurrency.test_overlap import over_assigned

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def voted():
    study = factories.StudyFactory(overlap=1)
    factories.rating_task(study, "only")
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, rating(3))
    return study, user, lease


def change(user, lease, submission):
    return lambda: revisions.revise(user, lease.id, submission)


def standing(study) -> list[tuple[int, bool]]:
    return list(
        Judgment.objects.filter(study=study).order_by("revision").values_list("revision", "effective")
    )


def test_changes_at_once_come_one_after_the_other(at_once):
    study, user, lease = voted()
    results = at_once([change(user, lease, rating(n % 5 + 1)) for n in range(8)])
    assert not [result for result in results if isinstance(result, Exception)]
    assert standing(study) == [(n, n == 9) for n in range(1, 10)]
    assert Answer.objects.filter(counted=True).count() == 1
    assert over_assigned(study) == []


def test_twenty_replays_at_once_make_one_change(at_once):
    study, user, lease = voted()
    receipts = at_once([change(user, lease, rating(5))] * 20)
    assert [receipt.replayed for receipt in receipts].count(False) == 1
    assert standing(study) == [(1, False), (2, True)]


def test_the_race_shows_when_a_change_takes_no_lock(at_once, monkeypatch):
    """Negative control: without the locks changes replace the same row, until a constraint stops the second."""
    held = access.held_assignment
    monkeypatch.setattr(access, "held_assignment", lambda user, id, lock=False: held(user, id))
    monkeypatch.setattr(overlap, "lock_tasks", lambda ids: {})

    def attempt() -> list[IntegrityError]:
        _, user, lease = voted()
        return integrity_errors(at_once([change(user, lease, rating(n % 5 + 1)) for n in range(8)]))

    assert all("judgment_revision_once_per_assignment" in str(error) for error in race_shows(attempt))


def excluded_and_changed_at_once(at_once):
    """A study in which a vote was excluded and changed at the same moment, and what became of the change."""
    study, user, lease = voted()
    named = Judgment.objects.filter(pk=Judgment.objects.get(assignment_id=lease.id).pk)
    results = at_once(
        [
            lambda: exclusions.exclude_or_restore(
                named, study=study, action="exclude", reason="careless", actor=None
            ),
            change(user, lease, rating(5)),
        ]
    )
    return study, results


@pytest.mark.parametrize("turn", range(5))
def test_what_is_excluded_while_it_is_changed_is_out_whichever_comes_first(at_once, turn):
    study, results = excluded_and_changed_at_once(at_once)
    faults = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(fault, DomainError) and fault.code == "not_changeable" for fault in faults)
    assert not Answer.objects.filter(task__study=study, counted=True).exists()
    assert Task.objects.get(study=study).n_judgments == 0
    assert over_assigned(study) == []


def test_the_race_shows_when_a_change_does_not_lock_the_task(at_once, monkeypatch):
    """Negative control: without the task's lock the change stands beside the exclusion, and the counters lie."""
    monkeypatch.setattr(revisions, "overlap", Unlocked())
    race_shows(lambda: over_assigned(excluded_and_changed_at_once(at_once)[0]))


class Unlocked:
    """The overlap as revisions use it, without its lock."""

    @staticmethod
    def lock_tasks(task_ids):
        return {}
