"""The pages of workspaces: who opens which, and what pressing their buttons does."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Invitation, Mail, Membership, Study, Workspace
from annotation.models.people import Role
from annotation.studies import members, workspaces
from tests.factories import StudyFactory, UserFactory, member, membership

pytestmark = pytest.mark.django_db

READ = "workspace workspace_people workspace_settings"
INVITE = {"role": "annotator", "max_uses": "2", "days": "7"}


@pytest.fixture
def admin():
    return UserFactory(name="Ada Admin", may_create_studies=True)


@pytest.fixture
def workspace(admin):
    return workspaces.create_workspace(slug="lab", title="The lab", actor=admin)


@pytest.fixture
def study(workspace, admin):
    study = StudyFactory(slug="s", title="Bird calls")
    members.add_member(study, admin, role=Role.ADMIN, actor=None)
    workspaces.place_study(study, workspace, actor=None)
    return study


@pytest.fixture
def signed_in(client, admin):
    client.force_login(admin)
    return client


def person(workspace, role, **fields):
    user = UserFactory(**fields)
    return workspaces.add_person(workspace, user, role=role, actor=None).user


def browser(user):
    client = Client()
    client.force_login(user)
    return client


def at(name, *more):
    return reverse(name, args=["lab", *more])


def pages(workspace):
    """Each page and button of a workspace, with its method."""
    target = workspaces.add_person(workspace, UserFactory(), role=Role.ANNOTATOR, actor=None)
    invitation, _token = workspaces.invite(workspace, role="annotator", actor=workspace.created_by)
    yield from (("get", at(name)) for name in READ.split())
    yield "post", at("workspace_people")
    yield "post", at("workspace_settings")
    yield "get", at("workspace_person", target.pk)
    yield "post", at("revoke_workspace_invitation", invitation.pk)
    yield "post", at("remove_workspace_person", target.pk)
    yield "post", at("delete_workspace")


# ── Who ──────────────────────────────────────────────────────────────────────

READS_ONLY = [200, 200, 200, 403, 403, 403, 403, 403, 403]


@pytest.mark.parametrize(
    ("role", "statuses"),
    [
        (None, [404] * 9),
        (Role.ANNOTATOR, [403] * 9),
        (Role.EXPERT, [403] * 9),
        (Role.RESEARCHER, READS_ONLY),
        (Role.ADMIN, [200, 200, 200, 200, 200, 200, 302, 302, 302]),
    ],
)
def test_each_role_opens_what_it_may(workspace, study, role, statuses):
    elsewhere = workspaces.create_workspace(slug="x", title="x", actor=UserFactory(may_create_studies=True))
    user = person(workspace, role) if role else person(elsewhere, Role.ADMIN)
    client = browser(user)
    assert [getattr(client, method)(path).status_code for method, path in pages(workspace)] == statuses


def test_a_visitor_is_sent_to_sign_in(workspace):
    answers = [getattr(Client(), method)(path) for method, path in pages(workspace)]
    assert all(answer.url.startswith(reverse("sign_in")) for answer in answers)


def test_raters_see_that_they_take_part_and_may_leave(workspace, study):
    rater = person(workspace, Role.ANNOTATOR)
    client = browser(rater)
    page = client.get(reverse("workspaces")).text
    assert "The lab" in page
    assert at("workspace") + '"' not in page
    assert client.post(at("leave_workspace")).url == reverse("workspaces")
    assert not Membership.objects.filter(user=rater).exists()
    assert client.get(at("leave_workspace")).status_code == 404


def test_the_last_admin_stays_and_is_told_why(signed_in, admin, workspace):
    page = signed_in.post(at("leave_workspace"), follow=True).text
    assert "only admin" in page
    assert workspace.memberships.filter(user=admin, role=Role.ADMIN).exists()


def test_whoever_only_rates_in_a_study_sees_nothing_of_it_on_the_page_of_the_workspace(workspace, study):
    user = person(workspace, Role.RESEARCHER)
    members.add_member(study, user, role=Role.ANNOTATOR, actor=None)
    client = browser(user)
    assert "Bird calls" not in client.get(at("workspace")).text
    assert client.get(reverse("study", args=["s"])).status_code == 403


# ── What ─────────────────────────────────────────────────────────────────────


def test_making_one_leads_to_inviting(signed_in):
    made = signed_in.post(reverse("new_workspace"), {"title": "Choir", "slug": "choir", "description": ""})
    assert made.url == reverse("workspace_people", args=["choir"])
    assert "Choir" in signed_in.get(reverse("workspaces")).text


def test_who_may_not_create_studies_makes_no_workspace(client):
    client.force_login(UserFactory())
    assert client.get(reverse("new_workspace")).status_code == 403


def test_addresses_are_invited_and_a_link_is_shown_once(signed_in, workspace):
    page = signed_in.post(at("workspace_people"), {**INVITE, "emails": "ada@example.org"}).text
    assert "gets a mail with a link" in page
    assert Mail.objects.get(to="ada@example.org").subject.endswith("“The lab”")
    link = re.search(
        r'value="(http://testserver/join/[^"]+)"', signed_in.post(at("workspace_people"), INVITE).text
    )[1]
    assert link not in signed_in.get(at("workspace_people")).text
    assert "The lab" in Client().get(link).text
    assert Invitation.objects.filter(workspace=workspace).count() == 2


def test_a_role_changes_in_the_workspace_and_its_page_says_where_it_holds(signed_in, workspace, study):
    user = person(workspace, Role.ANNOTATOR)
    there = workspace.memberships.get(user=user)
    assert signed_in.post(at("workspace_person", there.pk), {"role": "expert"}).status_code == 302
    assert membership(user, study).role == Role.EXPERT
    assert "Bird calls" in signed_in.get(at("workspace_person", there.pk)).text


def test_renaming_and_deleting(signed_in, workspace, study):
    signed_in.post(at("workspace_settings"), {"title": "Birds", "description": "All of them"})
    workspace.refresh_from_db()
    assert (workspace.title, workspace.description) == ("Birds", "All of them")
    assert "Move the studies out" in signed_in.post(at("delete_workspace"), follow=True).text
    workspaces.place_study(study, None, actor=None)
    assert signed_in.post(at("delete_workspace")).url == reverse("workspaces")
    assert not Workspace.objects.exists()


# ── Studies ──────────────────────────────────────────────────────────────────


def new_study(client, **fields):
    form = {
        "title": "New",
        "slug": "fresh",
        "preset": "orca",
        "overlap": 2,
        "order": "shuffled",
        "lease_minutes": 9,
    }
    return client.post(reverse("new_study"), {**form, **fields})


def test_a_study_is_made_in_the_workspace_that_is_chosen(signed_in, workspace):
    rater = person(workspace, Role.ANNOTATOR)
    assert 'value="lab" selected' in signed_in.get(reverse("new_study") + "?workspace=lab").text
    assert new_study(signed_in, workspace="lab").status_code == 302
    assert Study.objects.get(slug="fresh").workspace == workspace
    assert membership(rater, Study.objects.get(slug="fresh")).role == Role.ANNOTATOR


def test_an_admin_of_a_workspace_makes_studies_there_and_nowhere_else(workspace):
    client = browser(person(workspace, Role.ADMIN))
    assert new_study(client).status_code == 200  # the form again
    assert new_study(client, workspace="lab").status_code == 302
    assert browser(person(workspace, Role.RESEARCHER)).get(reverse("from_files")).status_code == 403


def test_nobody_makes_a_study_in_a_workspace_of_others(workspace):
    client = browser(UserFactory(may_create_studies=True))
    new_study(client, workspace="lab")
    assert not Study.objects.filter(workspace=workspace).exists()


def test_a_study_moves_out_and_back_from_its_settings(signed_in, workspace, study):
    settings, move = (reverse(name, args=["s"]) for name in ("settings", "move_study"))
    rater = person(workspace, Role.ANNOTATOR)
    assert "Move the study" in signed_in.get(settings).text
    signed_in.post(move, {"workspace": ""})
    assert not Membership.objects.filter(study=study, user=rater).exists()
    signed_in.post(move, {"workspace": "lab"})
    assert Membership.objects.filter(study=study, user=rater).exists()


def test_an_admin_of_the_study_alone_cannot_take_it_out(workspace, study):
    client = browser(member(study, Role.ADMIN))
    assert "Move the study" not in client.get(reverse("settings", args=["s"])).text
    page = client.post(reverse("move_study", args=["s"]), {"workspace": ""}, follow=True).text
    assert "Only admins of the workspace" in page
    study.refresh_from_db()
    assert study.workspace == workspace


def test_the_list_of_studies_is_filtered_and_grouped_by_workspace(signed_in, admin, workspace, study):
    members.add_member(StudyFactory(title="Alone"), admin, role=Role.ADMIN, actor=None)

    def titles(**query):
        return [row["study"].title for row in signed_in.get(reverse("home"), query).context["managed"]]

    assert titles(workspace="lab") == ["Bird calls"]
    assert titles(workspace="~") == ["Alone"]
    assert titles(sort="workspace") == ["Bird calls", "Alone"]
    page = signed_in.get(reverse("home"), {"sort": "workspace"}).text
    assert page.index("The lab</th>") < page.index("Bird calls") < page.index("In no workspace</th>")


def test_pages_of_workspaces_cost_the_same_however_many_there_are(
    signed_in, admin, workspace, study, django_assert_num_queries
):
    for n in range(5):
        workspaces.create_workspace(slug=f"w-{n}", title=f"W {n}", actor=admin)
        person(workspace, Role.ANNOTATOR)
    with django_assert_num_queries(3):  # the account, its workspaces with counts, its own memberships
        signed_in.get(reverse("workspaces"))
    with django_assert_num_queries(5):  # the account, the workspace, its studies, progress, open cases
        signed_in.get(at("workspace"))
