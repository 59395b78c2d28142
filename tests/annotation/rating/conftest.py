"""A study of one rating and one of one pair, and a rater who holds or has judged its task."""

from __future__ import annotations

import pytest

from annotation.models import Judgment, Study, User
from annotation.rating import exclusions, judgments, leases
from annotation.rating.judgments import Submission
from annotation.rating.leases import Lease
from tests import factories
from tests.annotation.importing.answers import rating


@pytest.fixture
def orca() -> Study:
    study = factories.StudyFactory(overlap=2)
    factories.rating_task(study, "only")
    return study


@pytest.fixture
def pairs() -> Study:
    study = factories.StudyFactory(preset="cmi-pref", overlap=2)
    factories.comparison_task(study, "pair")
    return study


def lease(study: Study, user: User | None = None) -> tuple[User, Lease]:
    """A rater, new unless given, and the task that they hold."""
    user = user or factories.member(study)
    held = leases.lease_next(user, study.slug)[1]
    assert held is not None
    return user, held


def vote(
    study: Study, submission: Submission | None = None, *, user: User | None = None
) -> tuple[User, Lease]:
    user, held = lease(study, user)
    judgments.submit(user, held.id, submission or rating(4, codes=["A"], comment="quiet"))
    return user, held


def mark(study: Study, action: str, *rows: Judgment) -> exclusions.ExclusionOutcome:
    """Exclude or restore these judgments."""
    chosen = Judgment.objects.filter(pk__in=[row.pk for row in rows])
    return exclusions.exclude_or_restore(chosen, study=study, action=action, reason="careless", actor=None)
