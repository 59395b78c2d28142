"""Excluding judgments while raters work keeps every counter true."""

from __future__ import annotations

import pytest

from annotation.models import Judgment
from annotation.rating import exclusions, judgments, leases
from tests import factories
from tests.annotation.importing.answers import rating
from tests.concurrency.test_overlap import make_study, one_raters_day, over_assigned

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


def test_excluding_while_others_rate_keeps_the_counters_true(at_once):
    study, users = make_study(5, 10)
    for user in users[:3]:
        _, lease = leases.lease_next(user, study.slug)
        judgments.submit(user, lease.id, rating(3))
    researcher = factories.member(study, "researcher")

    def mark(judgment_id: int, action: str):
        chosen = Judgment.objects.filter(pk=judgment_id)
        return lambda: exclusions.exclude_or_restore(
            chosen, study=study, action=action, reason="careless", actor=researcher
        )

    given = list(Judgment.objects.filter(study=study).values_list("pk", flat=True))
    work = [one_raters_day(study, user, seed) for seed, user in enumerate(users[3:])]
    results = at_once(work + [mark(pk, "exclude") for pk in given] * 2)
    assert not [result for result in results if isinstance(result, Exception)]
    assert Judgment.objects.filter(excluded=True).count() == 3
    assert over_assigned(study) == []
    results = at_once([mark(pk, "restore") for pk in given])
    assert not [result for result in results if isinstance(result, Exception)]
    assert over_assigned(study) == []
