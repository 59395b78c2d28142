"""Experts at one queue: a case is one expert's, and none is handed out twice."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from django.db import connection, transaction

from annotation import access
from annotation.errors import Conflict
from annotation.models import Assignment, CaseEvent, ReviewCase
from annotation.rating import leases, overlap
from annotation.review import cases
from annotation.review.queue import QueueFilters
from tests import factories
from tests.annotation.importing.reviewing import case
from tests.concurrency.conftest import race_shows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def make_study(*, n_cases: int, n_experts: int):
    study = factories.StudyFactory()
    opened = [case(factories.rating_task(study, f"item-{n}"), priority=n) for n in range(n_cases)]
    return study, opened, [factories.member(study, "expert") for _ in range(n_experts)]


def claims_of(one: ReviewCase) -> int:
    return CaseEvent.objects.filter(case=one, kind=CaseEvent.Kind.CLAIMED).count()


def test_one_expert_wins_a_case_and_the_others_hear_who(at_once):
    _, (one,), experts = make_study(n_cases=1, n_experts=6)
    results = at_once([partial(cases.claim, expert, one.pk) for expert in experts])
    (won,) = [result for result in results if isinstance(result, ReviewCase)]
    refused = [result for result in results if isinstance(result, Conflict)]
    assert len(refused) == 5
    assert {error.code for error in refused} == {"claimed_by_other"}
    assert all(str(won.claimed_by) in error.message for error in refused)
    assert claims_of(one) == 1


def test_several_win_when_a_claim_takes_no_lock(at_once, monkeypatch):
    """Negative control: without the row's lock, whoever reads before another writes wins, too."""
    unlocked = lambda user, case_id, lock: access.case_under_review(user, case_id)  # noqa: E731
    monkeypatch.setattr(cases, "case_under_review", unlocked)

    def attempt() -> bool:
        _, (one,), experts = make_study(n_cases=1, n_experts=6)
        at_once([partial(cases.claim, expert, one.pk) for expert in experts])
        return claims_of(one) > 1

    race_shows(attempt)


def test_experts_who_ask_at_once_get_different_cases(at_once):
    study, opened, experts = make_study(n_cases=6, n_experts=6)
    results = at_once([partial(cases.claim_next, expert, study.slug, QueueFilters()) for expert in experts])
    assert sorted(one.pk for one in results) == sorted(one.pk for one in opened)


@pytest.fixture
def claimed_while_leasing():
    """An expert claims a case at the moment at which they, in another tab, are being handed its task to rate."""

    def run() -> Assignment:
        _, (one,), (expert,) = make_study(n_cases=1, n_experts=1)

        def claim() -> None:
            cases.claim(expert, one.pk)
            connection.close()

        other_tab = threading.Thread(target=claim)
        with transaction.atomic():
            _, lease = leases.lease_next(expert, one.study.slug)
            other_tab.start()
            other_tab.join(0.5)  # it waits, or it is done
        other_tab.join(30)
        return Assignment.objects.get(pk=lease.id)

    return run


def test_a_claim_gives_back_the_task_that_is_being_handed_out(claimed_while_leasing):
    assert claimed_while_leasing().state == Assignment.State.RETURNED


def test_a_claim_gives_back_a_task_whose_lease_is_being_kept_alive_at_that_moment():
    _, (one,), (expert,) = make_study(n_cases=1, n_experts=1)
    _, lease = leases.lease_next(expert, one.study.slug)

    def claim() -> None:
        cases.claim(expert, one.pk)
        connection.close()

    other_tab = threading.Thread(target=claim)
    with transaction.atomic():
        leases.extend(expert, lease.id)
        other_tab.start()
        other_tab.join(0.2)  # it waits, or it is done
    other_tab.join(30)
    assert Assignment.objects.get(pk=lease.id).state == Assignment.State.RETURNED


def test_the_task_stays_out_when_a_claim_does_not_lock_it(claimed_while_leasing, monkeypatch):
    """Negative control."""
    monkeypatch.setattr(overlap, "lock_tasks", lambda task_ids: {})
    assert claimed_while_leasing().state == Assignment.State.OPEN
