"""Marks and counters stay true when exclusions meet each other, raters at work and the sweep of expired leases."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from annotation.models import Assignment, Exclusion, Judgment, Rater, Study, Task
from annotation.rules.exclusions import Places
from annotation.services import exclusions, judgments, leases
from tests.annotation.services.answers import rating
from tests.concurrency.test_overlap import make_study, over_assigned

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def mark(study: Study, action: str, chosen=None) -> exclusions.Outcome:
    chosen = Judgment.objects.all() if chosen is None else chosen
    return exclusions.mark(chosen, study=study, action=action, reason="test", actor=None)


def rated_study(n_tasks: int = 3) -> Study:
    study, users = make_study(n_tasks, 3)
    for user in users:
        while (lease := leases.lease_next(user, study.slug)[1]) is not None:
            judgments.submit(user, lease.id, rating(3))
    return study


def test_one_of_eight_who_exclude_at_once_does_it(at_once):
    study = rated_study()
    outcomes = at_once([lambda: mark(study, "exclude")] * 8)
    assert sorted(outcome.changed for outcome in outcomes) == [0] * 7 + [9]
    assert Exclusion.objects.count() == 9
    assert set(Task.objects.values_list("n_judgments", flat=True)) == {0}


def test_the_race_shows_when_an_exclusion_takes_no_lock(at_once, monkeypatch):
    """Negative control: without the tasks' locks, one judgment is excluded more than once."""

    def unlocked(task_ids):
        rows = Task.objects.filter(pk__in=task_ids)
        return {t.pk: Places(t.n_judgments, t.n_leases, t.overlap) for t in rows}

    monkeypatch.setattr(leases, "lock_places", unlocked)
    study = rated_study()
    of_one_rater = Judgment.objects.filter(rater=Rater.objects.first())
    at_once([lambda: mark(study, "exclude", of_one_rater)] * 8)
    assert Exclusion.objects.count() > 3
    assert over_assigned(study) != []  # counters that went down more than once


def test_counters_tell_the_truth_while_raters_work_and_leases_expire(at_once):
    study, users = make_study(8, 6)

    def rate(user, seed):
        chance = random.Random(seed)

        def work():
            for _ in range(12):
                _, lease = leases.lease_next(user, study.slug)
                if lease is None:
                    continue
                if chance.random() < 0.3:
                    Assignment.objects.filter(pk=lease.id, state=1).update(
                        expires_at=timezone.now() - timedelta(seconds=1)
                    )
                else:
                    judgments.submit(user, lease.id, rating(3))

        return work

    def change_minds(seed):
        chance = random.Random(seed)

        def work():
            for _ in range(10):
                rater = chance.choice(list(Rater.objects.all()))
                mark(study, chance.choice(["exclude", "restore"]), Judgment.objects.filter(rater=rater))

        return work

    def sweep():
        for _ in range(20):
            leases.expire_due()

    results = at_once([*(rate(u, n) for n, u in enumerate(users)), change_minds(1), change_minds(2), sweep])
    assert not [r for r in results if isinstance(r, OperationalError)]
    assert not [r for r in results if isinstance(r, Exception)]
    assert over_assigned(study) == []
    for rater in Rater.objects.all():
        counted = Judgment.objects.filter(rater=rater, effective=True, excluded=False).count()
        assert rater.n_judgments == counted
