"""A study always keeps an admin, and an invitation its number of places, whoever acts at the same moment."""

from __future__ import annotations

import pytest

from annotation.errors import Conflict, NotFound
from annotation.models import Membership, Study
from annotation.models.people import Role
from annotation.studies import members
from tests import factories
from tests.concurrency.conftest import race_shows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory()


def demote_each_other(at_once, study: Study) -> list:
    """Two admins, each about to take the other's role away."""
    admins = [factories.member(study, Role.ADMIN) for _ in range(2)]
    return at_once(
        [
            lambda target=target, actor=actor: members.add_member(
                study, target, role=Role.EXPERT, actor=actor
            )
            for target, actor in (admins, reversed(admins))
        ]
    )


@pytest.mark.parametrize("turn", range(5))
def test_two_admins_who_demote_each_other_leave_one(at_once, study, turn):
    results = demote_each_other(at_once, study)
    assert [result.code for result in results if isinstance(result, Conflict)] == ["last_admin"]
    assert Membership.objects.filter(study=study, role=Role.ADMIN).count() == 1


def test_the_race_shows_when_nothing_is_locked(at_once, study, monkeypatch):
    """Negative control: each sees the other still there, and the study ends without an admin."""

    def unlocked(membership):
        others = Membership.objects.filter(study=membership.study, role=Role.ADMIN).exclude(pk=membership.pk)
        if not others.exists():
            raise Conflict("last", code="last_admin")

    monkeypatch.setattr(members, "_check_last_admin", unlocked)

    def attempt() -> bool:
        Membership.objects.filter(study=study).delete()
        demote_each_other(at_once, study)
        return not Membership.objects.filter(study=study, role=Role.ADMIN).exists()

    race_shows(attempt)


def test_an_invitation_for_three_takes_three_of_ten(at_once, study):
    admin = factories.member(study, Role.ADMIN)
    _, token = members.invite(study, role=Role.ANNOTATOR, actor=admin, max_uses=3)
    strangers = [factories.UserFactory() for _ in range(10)]
    results = at_once([lambda user=user: members.accept_invitation(token, user) for user in strangers])
    assert sum(isinstance(result, Membership) for result in results) == 3
    assert sum(isinstance(result, NotFound) for result in results) == 7
    assert Membership.objects.filter(study=study, role=Role.ANNOTATOR).count() == 3
