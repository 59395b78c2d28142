"""Raters, members and invitations over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, AuditEvent, Invitation, Judgment, Membership, Rater
from annotation.models.people import Role
from annotation.review import cases
from annotation.review.queue import QueueFilters
from annotation.studies import members
from tests import factories
from tests.annotation.importing.reviewing import case
from tests.annotation.world import link

pytestmark = pytest.mark.django_db


# ── Raters ───────────────────────────────────────────────────────────────────


def test_raters_are_listed_under_their_pseudonyms_only(api, world):
    response = api(world.researcher).get("studies/here/raters/")
    rows = {row["pseudonym"]: row for row in response.json()["results"]}
    assert len(rows) == 2
    assert rows[world.rater.pseudonym]["n_judgments"] == 1
    assert "SECRET annotator" not in response.content.decode()


@pytest.mark.parametrize("state", ["paused", "excluded"])
def test_a_rater_can_be_kept_from_work_and_let_back(api, world, state):
    path = f"studies/here/raters/{world.rater.pseudonym}/"
    assert api(world.researcher).patch(path, {"state": state, "reason": "Too quick"}).json()["state"] == state
    assert api(world.annotator).post("studies/here/next/").json()["title"] == "rater_paused"
    assert api(world.researcher).patch(path, {"state": "active", "reason": "Talked"}).status_code == 200
    assert api(world.annotator).post("studies/here/next/").status_code == 200
    reasons = AuditEvent.objects.filter(action="rater.state_changed").order_by("id")
    assert [event.data["reason"] for event in reasons] == ["Too quick", "Talked"]


# ── Members ──────────────────────────────────────────────────────────────────


def test_members_are_listed_with_their_roles_and_pseudonyms(api, world):
    rows = api(world.researcher).get("studies/here/members/").json()["results"]
    by_role = {row["role"]: row for row in rows}
    assert set(by_role) == set(Role.values)
    assert by_role["annotator"]["pseudonym"] == world.rater.pseudonym
    assert by_role["annotator"]["email"] == "annotator@here.example"
    assert by_role["admin"]["pseudonym"] is None


def test_an_admin_gives_a_member_another_role(api, world):
    path = f"studies/here/members/{world.membership.pk}/"
    body = api(world.admin).patch(path, {"role": "researcher"}).json()
    assert body["role"] == "researcher"
    assert api(world.expert).get("studies/here/items/").status_code == 200
    assert AuditEvent.objects.get(action="member.role_changed").data == {
        "before": "expert",
        "after": "researcher",
    }


def test_a_researcher_gives_no_roles(api, world):
    path = f"studies/here/members/{world.membership.pk}/"
    assert api(world.researcher).patch(path, {"role": "admin"}).status_code == 403
    assert api(world.researcher).delete(path).status_code == 403
    assert world.membership.role == Role.EXPERT


def test_who_comes_to_run_a_study_loses_their_tasks_there(api, world):
    """They see everybody's answers from now on; a vote of theirs would not be blind."""
    member = Membership.objects.get(study=world.study, user=world.annotator)
    api(world.admin).patch(f"studies/here/members/{member.pk}/", {"role": "researcher"})
    world.open.refresh_from_db()
    assert world.open.state == Assignment.State.RETURNED
    assert api(world.annotator).get(f"assignments/{world.open.pk}/").status_code == 404
    assert api(world.annotator).get(link(world.submitted.pk, "a")).status_code == 404


def test_a_removed_member_is_a_stranger_and_what_they_said_stays(api, world):
    member = Membership.objects.get(study=world.study, user=world.annotator)
    assert api(world.admin).delete(f"studies/here/members/{member.pk}/").status_code == 204
    assert api(world.annotator).get("studies/here/").status_code == 404
    assert api(world.annotator).get(link(world.submitted.pk, "a")).status_code == 404
    body = {"client_id": "7b6a1c1e-1d43-4f7c-9d4e-6d1df4d4a9aa", "answers": []}
    assert api(world.annotator).post(f"assignments/{world.open.pk}/judgment/", body).status_code == 404
    assert Judgment.objects.get().rater == world.rater
    world.open.task.refresh_from_db()
    assert world.open.task.n_leases == 0
    assert AuditEvent.objects.get(action="member.removed").data == {"role": "annotator"}


@pytest.mark.parametrize("how", ["demote", "remove"])
def test_the_cases_of_an_expert_who_goes_are_everybodys_again(api, world, how):
    expert = factories.member(world.study, Role.EXPERT)
    one = case(world.open.task, assigned_to=expert)
    cases.claim(expert, one.pk)
    path = f"studies/here/members/{Membership.objects.get(user=expert).pk}/"
    api(world.admin).delete(path) if how == "remove" else api(world.admin).patch(path, {"role": "annotator"})
    one.refresh_from_db()
    assert (one.state, one.claimed_by, one.assigned_to) == ("open", None, None)
    other = factories.member(world.study, Role.EXPERT)
    assert cases.claim_next(other, "here", QueueFilters()) == one


@pytest.mark.parametrize("how", ["demote", "remove"])
def test_the_last_admin_stays(api, world, how):
    member = Membership.objects.get(study=world.study, user=world.admin)
    path = f"studies/here/members/{member.pk}/"
    me = api(world.admin)
    response = me.delete(path) if how == "remove" else me.patch(path, {"role": "researcher"})
    assert (response.status_code, response.json()["title"]) == (409, "last_admin")
    assert Membership.objects.get(pk=member.pk).role == Role.ADMIN


def test_one_of_two_admins_may_go(api, world):
    second = factories.member(world.study, Role.ADMIN)
    member = Membership.objects.get(study=world.study, user=world.admin)
    assert api(second).delete(f"studies/here/members/{member.pk}/").status_code == 204


@pytest.mark.parametrize("member_id", [0, 10**12, 10**40])
def test_a_member_that_is_not_there_is_not_there(api, world, member_id):
    assert api(world.admin).delete(f"studies/here/members/{member_id}/").status_code == 404


def test_a_rater_and_an_invitation_of_another_study_are_not_there(api, world, elsewhere):
    me = api(world.admin)
    change = {"state": "paused", "reason": "x"}
    assert me.patch(f"studies/here/raters/{elsewhere.rater.pseudonym}/", change).status_code == 404
    assert me.delete(f"studies/here/invitations/{elsewhere.invitation.pk}/").status_code == 404


# ── Invitations ──────────────────────────────────────────────────────────────


def test_an_invitation_is_shown_once_and_lets_people_in(api, world):
    body = (
        api(world.researcher).post("studies/here/invitations/", {"role": "annotator", "max_uses": 2}).json()
    )
    assert body["link"] == f"http://testserver/join/{body['token']}/"
    stranger = factories.UserFactory()
    members.accept_invitation(body["token"], stranger)
    assert Rater.objects.filter(study=world.study, user=stranger).exists()
    listed = api(world.researcher).get("studies/here/invitations/")
    assert body["token"] not in listed.content.decode()
    assert [(row["uses"], row["max_uses"]) for row in listed.json()["results"]] == [(0, 1), (1, 2)]


@pytest.mark.parametrize("role", ["researcher", "admin"])
def test_only_admins_invite_others_who_run_the_study(api, world, role):
    assert api(world.researcher).post("studies/here/invitations/", {"role": role}).status_code == 403
    assert api(world.admin).post("studies/here/invitations/", {"role": role}).status_code == 201
    operator = factories.UserFactory(is_superuser=True)
    assert api(operator).post("studies/here/invitations/", {"role": role}).status_code == 201


@pytest.mark.parametrize(
    ("what", "body", "field"),
    [
        ("rater", {"state": "paused"}, "reason"),
        ("rater", {"state": "paused", "reason": " "}, "reason"),
        ("rater", {"state": "gone", "reason": "x"}, "state"),
        ("rater", {"reason": "x"}, "state"),
        ("invitation", {}, "role"),
        ("invitation", {"role": "owner"}, "role"),
        ("invitation", {"role": "annotator", "max_uses": 0}, "max_uses"),
        ("invitation", {"role": "annotator", "days": 366}, "days"),
        ("invitation", {"role": "annotator", "email": "x@example.org"}, "email"),
    ],
)
def test_what_makes_no_invitation_or_change_of_a_rater_is_refused_with_the_field(
    api, world, what, body, field
):
    if what == "rater":
        response = api(world.researcher).patch(f"studies/here/raters/{world.rater.pseudonym}/", body)
    else:
        response = api(world.admin).post("studies/here/invitations/", body)
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_a_revoked_invitation_lets_nobody_in_and_is_revoked_once(api, world):
    token = api(world.admin).post("studies/here/invitations/", {"role": "annotator"}).json()["token"]
    path = f"studies/here/invitations/{Invitation.objects.latest('id').pk}/"
    for _ in range(2):
        assert api(world.researcher).delete(path).status_code == 204
    with pytest.raises(members.NotFound):
        members.accept_invitation(token, factories.UserFactory())
    assert AuditEvent.objects.filter(action="invitation.revoked").count() == 1


def test_an_expired_invitation_is_listed_as_closed(api, world):
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    (row,) = api(world.admin).get("studies/here/invitations/").json()["results"]
    assert row["is_open"] is False
