from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.models import Assignment, AuditEvent, Invitation, Judgment, Membership, Rater, Task
from annotation.models.people import Role
from annotation.rating import leases
from annotation.studies import members
from tests.analytics.votes import vote
from tests.factories import member, membership, rater, rating_task

pytestmark = pytest.mark.django_db

INVITE = {"role": "annotator", "max_uses": "3", "days": "7"}


@pytest.fixture
def signed_in(client, admin):
    client.force_login(admin)
    return client


def open_people(client, user):
    client.force_login(user)
    return client.get(reverse("people", args=["s"]))


def test_members_are_listed_with_role_and_pseudonym(client, admin, study):
    person = member(study, name="Grace Example")
    page = open_people(client, admin).text
    assert "Grace Example" in page
    assert Rater.objects.get(user=person).pseudonym in page


def test_listing_costs_the_same_however_many_members(client, admin, study, django_assert_num_queries):
    for _ in range(9):
        member(study)
    open_people(client, admin)
    with django_assert_num_queries(4):
        client.get(reverse("people", args=["s"]))


def test_a_new_invitations_link_is_shown_once_and_works(signed_in, admin):
    page = signed_in.post(reverse("people", args=["s"]), INVITE).text
    link = re.search(r'value="(http://testserver/join/[^"]+)"', page)[1]
    assert link not in open_people(signed_in, admin).text
    invitation = Invitation.objects.get()
    assert (invitation.role, invitation.max_uses) == ("annotator", 3)
    signed_in.logout()
    assert signed_in.get(link).status_code == 200


def test_addresses_get_mails_and_the_page_says_who_was_invited(signed_in):
    form = {**INVITE, "emails": "Ada <Ada@Example.org>, bob@example.org\n", "label": "cohort 2"}
    page = signed_in.post(reverse("people", args=["s"]), form).text
    assert page.count("gets a mail with a link<") == 2
    assert Invitation.objects.filter(email="ada@example.org", label="cohort 2", max_uses=1).exists()
    assert "cohort 2" in page


def test_what_is_no_address_is_named(signed_in):
    answer = signed_in.post(reverse("people", args=["s"]), {**INVITE, "emails": "ada@example.org, bob"})
    assert "bob is no e-mail address." in answer.text
    assert not Invitation.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"), [("role", "owner"), ("max_uses", "0"), ("days", "366"), ("days", "")]
)
def test_a_fault_in_an_invitation_is_shown_at_its_field(signed_in, field, value):
    answer = signed_in.post(reverse("people", args=["s"]), {**INVITE, field: value})
    assert list(answer.context["form"].errors) == [field]
    assert not Invitation.objects.exists()


def test_researchers_invite_raters_only(client, researcher, study):
    client.force_login(researcher)
    answer = client.post(reverse("people", args=["s"]), {**INVITE, "role": "admin"})
    assert list(answer.context["form"].errors) == ["role"]


def test_a_revoked_invitation_opens_nothing(signed_in, admin, study):
    invitation, token = members.invite(study, role=Role.ANNOTATOR, actor=admin)
    signed_in.post(reverse("revoke_invitation", args=["s", invitation.pk]))
    signed_in.logout()
    assert signed_in.get(reverse("join", args=[token])).status_code == 404
    assert "withdrawn" in open_people(signed_in, admin).text


def test_an_admin_changes_a_role(signed_in, study):
    person = member(study)
    signed_in.post(reverse("member", args=["s", membership(person, study).pk]), {"role": "researcher"})
    assert membership(person, study).role == Role.RESEARCHER


def test_the_last_admin_stays(signed_in, admin, study):
    mine = membership(admin, study).pk
    answer = signed_in.post(reverse("member", args=["s", mine]), {"role": "annotator"})
    assert "only admin" in answer.context["form"].errors["role"][0]
    answer = signed_in.post(reverse("remove_member", args=["s", mine]), follow=True)
    assert "only admin" in answer.text
    assert membership(admin, study).role == Role.ADMIN


def test_a_removed_member_keeps_their_judgments_and_loses_their_tasks(signed_in, study):
    person = member(study)
    vote(rating_task(study, "one"), 3, rater=Rater.objects.get(user=person))
    rating_task(study, "two")
    leases.lease_next(person, "s")
    signed_in.post(reverse("remove_member", args=["s", membership(person, study).pk]))
    assert not Membership.objects.filter(user=person).exists()
    assert Judgment.objects.filter(rater__user=person).count() == 1
    assert Assignment.objects.get().state == Assignment.State.RETURNED


def test_whoever_removes_themself_lands_among_their_studies(signed_in, admin, study):
    member(study, Role.ADMIN)
    answer = signed_in.post(reverse("remove_member", args=["s", membership(admin, study).pk]))
    assert answer.url == reverse("home")


# ── One rater ────────────────────────────────────────────────────────────────
def test_pausing_a_rater_needs_a_reason_and_can_be_ended(signed_in, study):
    person = rater(study)
    path = reverse("act_on_rater", args=["s", person.pseudonym])
    answer = signed_in.post(path, {"action": "pause", "reason": ""})
    assert list(answer.context["action_form"].errors) == ["reason"]
    assert "reinstate" not in answer.text
    signed_in.post(path, {"action": "pause", "reason": "headphones broken"})
    person.refresh_from_db()
    assert person.state == Rater.State.PAUSED
    signed_in.post(path, {"action": "reinstate", "reason": "new headphones"})
    person.refresh_from_db()
    assert person.state == Rater.State.ACTIVE
    assert AuditEvent.objects.get(action="rater.state_changed").data["reason"] == "new headphones"


def test_excluding_a_raters_judgments_can_be_undone(signed_in, study):
    person = rater(study)
    vote(rating_task(study, "one"), 3, rater=person)
    path = reverse("act_on_rater", args=["s", person.pseudonym])
    exclude, restore = (
        {"action": f"{one}_judgments", "reason": "did not listen"} for one in ("exclude", "restore")
    )
    answer = signed_in.post(path, exclude, follow=True)
    assert "1 judgment is out of the figures." in answer.text
    assert Judgment.objects.get().excluded
    person.refresh_from_db()
    assert person.state == Rater.State.ACTIVE
    answer = signed_in.post(path, restore, follow=True)
    assert "1 judgment counts again." in answer.text
    assert not Judgment.objects.get().excluded
    signed_in.post(path, exclude)
    Task.objects.update(state=Task.State.WITHDRAWN)
    answer = signed_in.post(path, restore, follow=True)
    assert "1 judgment stays out: its item was corrected or withdrawn." in answer.text


@pytest.mark.parametrize("reason", ["", "x" * 41])
def test_excluding_judgments_needs_a_reason_that_fits_a_report(signed_in, study, reason):
    person = rater(study)
    vote(rating_task(study, "one"), 3, rater=person)
    path = reverse("act_on_rater", args=["s", person.pseudonym])
    answer = signed_in.post(path, {"action": "exclude_judgments", "reason": reason})
    assert list(answer.context["action_form"].errors) == ["reason"]
    assert not Judgment.objects.get().excluded


def test_fields_of_a_raters_page_have_ids_of_their_own(signed_in, study):
    page = signed_in.get(reverse("rater", args=["s", rater(study).pseudonym])).text
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
