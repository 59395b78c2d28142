"""Workspaces: what a role in one gives in its studies, and what it does not."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import access
from annotation.access import tokens
from annotation.errors import Conflict, InvalidInput, NotAllowed, NotFound
from annotation.importing import uploads
from annotation.importing.options import NewStudy
from annotation.models import (
    Assignment,
    AuditEvent,
    Job,
    Mail,
    Membership,
    Study,
    Workspace,
    WorkspaceMembership,
)
from annotation.models.people import Role
from annotation.rating import judgments, leases
from annotation.studies import members, studies, workspaces
from tests.annotation.importing.answers import rating
from tests.factories import NOTHING_TO_HEAR, StudyFactory, UserFactory, member, membership, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return UserFactory(may_create_studies=True)


@pytest.fixture
def workspace(admin):
    return workspaces.create_workspace(slug="lab", title="Lab", actor=admin)


@pytest.fixture
def study(workspace, admin):
    return studies.create_study(slug="first", title="First", preset="orca", actor=admin, workspace=workspace)


def person(workspace, role, **fields):
    user = UserFactory(**fields)
    workspaces.add_person(workspace, user, role=role, actor=None)
    return user


def role_in(study, user):
    return access.study_of(user, study.slug).role


def lease(study, user):
    rating_task(study, f"for {user.pk}")
    study.refresh_from_db()
    studies.set_study_state(study, "running", actor=None)
    Study.objects.filter(pk=study.pk).update(rules=NOTHING_TO_HEAR)
    return Assignment.objects.get(pk=leases.lease_next(user, study.slug)[1].id)


def judge(study, user):
    judgments.submit(user, lease(study, user).pk, rating(4))


# ── Roles ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", Role.values)
def test_a_role_in_a_workspace_holds_in_its_studies_and_in_no_other(workspace, study, role):
    other = StudyFactory()
    user = person(workspace, role)
    assert role_in(study, user) == role
    with pytest.raises(NotFound):
        access.study_of(user, other.slug)


def test_a_study_that_joins_gets_the_people_who_are_there(workspace, admin):
    expert = person(workspace, Role.EXPERT)
    study = studies.create_study(slug="next", title="Next", preset="orca", actor=admin, workspace=workspace)
    assert role_in(study, expert) == Role.EXPERT
    assert access.rater_of(expert, "next").study == study


def test_an_annotator_of_one_workspace_sees_nothing_of_another(workspace, study, api):
    elsewhere = workspaces.create_workspace(
        slug="other", title="Other", actor=UserFactory(may_create_studies=True)
    )
    user = person(elsewhere, Role.ANNOTATOR)
    paths = ["studies/first/", "workspaces/lab/", "workspaces/lab/members/", "workspaces/lab/studies/"]
    assert {api(user).get(path).status_code for path in paths} == {404}
    (own,) = api(user).get("workspaces/").json()["results"]
    assert (own["slug"], own["role"], own["n_people"], own["n_studies"]) == ("other", "annotator", None, 0)
    assert api(user).get("workspaces/other/members/").status_code == 403


def test_the_studys_own_role_is_what_holds_whatever_the_workspace_says(workspace, study):
    user = person(workspace, Role.RESEARCHER)
    members.add_member(study, user, role=Role.ANNOTATOR, actor=None)
    workspaces.add_person(workspace, user, role=Role.ADMIN, actor=None)
    assert role_in(study, user) == Role.ANNOTATOR
    with pytest.raises(NotAllowed):
        access.managed_study(user, study.slug)
    with pytest.raises(NotAllowed):
        workspaces.move_study(study, None, actor=user)


def test_without_the_role_of_the_study_the_one_of_the_workspace_is_back(workspace, study, admin):
    user = person(workspace, Role.EXPERT)
    members.add_member(study, user, role=Role.ANNOTATOR, actor=admin)
    members.remove_member(membership(user, study), actor=admin)
    assert role_in(study, user) == Role.EXPERT


def test_a_role_by_the_workspace_ends_in_the_workspace_alone(workspace, study, admin):
    user = person(workspace, Role.ANNOTATOR)
    with pytest.raises(Conflict, match="Remove them there"):
        members.remove_member(membership(user, study), actor=admin)
    assert role_in(study, user) == Role.ANNOTATOR


# ── Blinding ─────────────────────────────────────────────────────────────────


def test_whoever_has_judged_does_not_read_the_results_by_a_workspace(workspace, study):
    user = person(workspace, Role.ANNOTATOR)
    judge(study, user)
    workspaces.add_person(workspace, user, role=Role.ADMIN, actor=None)
    assert role_in(study, user) == Role.ANNOTATOR
    later = StudyFactory()
    workspaces.place_study(later, workspace, actor=None)
    assert role_in(later, user) == Role.ADMIN


def test_nor_once_they_were_removed_from_the_study(workspace, admin):
    study = StudyFactory()
    members.add_member(study, admin, role=Role.ADMIN, actor=None)
    user = member(study)
    judge(study, user)
    members.remove_member(membership(user, study), actor=admin)
    workspaces.place_study(study, workspace, actor=None)
    workspaces.add_person(workspace, user, role=Role.RESEARCHER, actor=None)
    with pytest.raises(NotFound):
        access.study_of(user, study.slug)


def test_who_comes_to_run_the_studies_gives_back_their_tasks(workspace, study):
    user = person(workspace, Role.ANNOTATOR)
    held = lease(study, user)
    workspaces.add_person(workspace, user, role=Role.RESEARCHER, actor=None)
    held.refresh_from_db()
    assert (held.state, role_in(study, user)) == (Assignment.State.RETURNED, Role.RESEARCHER)


# ── Leaving ──────────────────────────────────────────────────────────────────


def test_leaving_gives_back_tasks_and_ends_the_roles(workspace, study):
    user = person(workspace, Role.ANNOTATOR)
    held = lease(study, user)
    workspaces.remove_person(access.workspace_membership_of(user, "lab"), actor=user)
    held.refresh_from_db()
    assert held.state == Assignment.State.RETURNED
    with pytest.raises(NotFound):
        access.study_of(user, study.slug)
    with pytest.raises(NotFound):
        access.assignment_of(user, held.pk)


def test_a_workspace_keeps_an_admin(workspace, admin):
    mine = access.workspace_membership_of(admin, "lab")
    with pytest.raises(Conflict, match="only admin"):
        workspaces.remove_person(mine, actor=admin)
    with pytest.raises(Conflict, match="only admin"):
        workspaces.add_person(workspace, admin, role=Role.RESEARCHER, actor=admin)
    person(workspace, Role.ADMIN)
    workspaces.remove_person(mine, actor=admin)


def test_no_study_is_left_without_an_admin(workspace, study, admin):
    second = person(workspace, Role.ADMIN)
    members.add_member(study, admin, role=Role.RESEARCHER, actor=second)
    with pytest.raises(Conflict, match="“First” would have no admin"):
        workspaces.remove_person(access.workspace_membership_of(second, "lab"), actor=admin)
    assert role_in(study, second) == Role.ADMIN


# ── Studies in and out ───────────────────────────────────────────────────────


def test_moving_a_study_out_ends_the_roles_by_the_workspace_and_keeps_its_own(workspace, study, admin):
    by_workspace, own = person(workspace, Role.RESEARCHER), member(study, Role.EXPERT)
    mover = person(workspace, Role.ADMIN)
    workspaces.move_study(study, None, actor=mover)
    assert (role_in(study, own), role_in(study, mover)) == (Role.EXPERT, Role.ADMIN)
    with pytest.raises(NotFound):
        access.study_of(by_workspace, study.slug)
    event = AuditEvent.objects.get(action="workspace.study_moved", data__after=None)
    assert (event.study, event.data["before"]) == (study, "lab")


def test_a_study_moves_for_admins_of_both_only(workspace, study, admin):
    own_admin = member(study, Role.ADMIN)
    with pytest.raises(NotAllowed, match="the workspace “Lab”"):
        workspaces.move_study(study, None, actor=own_admin)
    with pytest.raises(NotAllowed, match="of this study"):
        workspaces.move_study(StudyFactory(), workspace, actor=admin)


def test_admins_of_a_workspace_make_studies_in_it_and_only_they_do(workspace):
    second = person(workspace, Role.ADMIN)
    made = studies.create_study(slug="by-two", title="x", preset="orca", actor=second, workspace=workspace)
    assert made.workspace == workspace
    with pytest.raises(NotAllowed):
        studies.create_study(slug="none", title="x", preset="orca", actor=second)
    with pytest.raises(NotAllowed):
        studies.create_study(
            slug="none", title="x", preset="orca", workspace=workspace,
            actor=person(workspace, Role.RESEARCHER, may_create_studies=True),
        )  # fmt: skip


def test_only_an_empty_workspace_is_deleted(workspace, study, admin):
    with pytest.raises(Conflict, match="Move the studies out"):
        workspaces.delete_workspace(workspace, actor=admin)
    workspaces.move_study(study, None, actor=admin)
    workspaces.delete_workspace(workspace, actor=admin)
    assert not Workspace.objects.exists()


# ── Invitations, tokens, queries ─────────────────────────────────────────────


def test_accounts_take_part_at_once_and_others_get_a_link(workspace, study, admin, api):
    known = UserFactory(email="known@example.org")
    body = {"emails": ["known@example.org", "new@example.org", admin.email], "role": "expert"}
    outcome = api(admin).post("workspaces/lab/members/", body).json()
    assert outcome["added"] == ["known@example.org"]
    assert (outcome["invited"], outcome["members"]) == (["new@example.org"], [admin.email])
    assert role_in(study, known) == Role.EXPERT
    mail = Mail.objects.get(to="new@example.org")
    newcomer = UserFactory(email="new@example.org")
    token = mail.text.split("/join/")[1].split("/")[0]
    joined = api(newcomer).post("join/", {"token": token}).json()
    assert joined == {"study": None, "workspace": "lab", "role": "expert"}
    assert role_in(study, newcomer) == Role.EXPERT
    with pytest.raises(NotFound):
        workspaces.accept_invitation(token, UserFactory())


def test_a_role_that_there_is_not_is_refused(workspace, admin):
    with pytest.raises(InvalidInput):
        workspaces.add_person(workspace, UserFactory(), role="owner", actor=admin)


def test_a_token_limited_to_studies_finds_no_workspace(workspace, study, admin, api):
    _token, secret = tokens.create_token(
        admin, name="x", scopes=["read", "manage"], days=1, studies=[study.slug]
    )
    headers = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    client = api(None).client
    assert client.get("/api/v1/workspaces/lab/", **headers).status_code == 404
    path, body = "/api/v1/studies/first/workspace/", {"workspace": None}
    moved = client.put(path, body, content_type="application/json", **headers)
    assert moved.status_code == 403
    admin.only_studies = frozenset({study.pk})
    assert not access.workspaces_of(admin).exists()
    with pytest.raises(NotFound):
        access.workspace_of(admin, "lab")


def test_rating_costs_no_query_more_in_a_workspace(workspace, study):
    user = person(workspace, Role.ANNOTATOR)
    lease(study, user)
    own = StudyFactory()
    alone = member(own)
    rating_task(own, "one")
    counts = []
    for who, where in ((user, study), (alone, own)):
        with CaptureQueriesContext(connection) as seen:
            access.rater_at_work(who, where.slug)
        counts.append(len(seen))
    assert counts == [1, 1]


def test_what_is_kept_is_what_the_rule_gives(workspace, study, admin):
    """After every change, memberships by the workspace are those that the rule gives."""
    users = [person(workspace, role) for role in Role.values]
    other = StudyFactory()
    workspaces.place_study(other, workspace, actor=None)
    members.add_member(other, users[0], role=Role.ADMIN, actor=None)
    workspaces.add_person(workspace, users[1], role=Role.RESEARCHER, actor=admin)
    workspaces.remove_person(WorkspaceMembership.objects.get(user=users[2]), actor=admin)
    for each in (study, other):
        rows = Membership.objects.filter(study=each, by_workspace=True).select_related("user")
        own = set(Membership.objects.filter(study=each, by_workspace=False).values_list("user", flat=True))
        given = {m.user_id: m.role for m in workspace.memberships.exclude(user__in=own)}
        assert {row.user_id: row.role for row in rows} == given


# ── Other ways into a workspace ──────────────────────────────────────────────


@pytest.mark.parametrize("way", ["create", "copy", "import", "move"])
def test_nothing_of_others_comes_into_a_workspace(workspace, api, way, tmp_path, settings):
    """By whoever may create studies, runs this one, and has no role in the workspace, or rates in it alone."""
    settings.HOME = tmp_path
    own = StudyFactory(slug="own")
    for stranger in (
        UserFactory(may_create_studies=True),
        person(workspace, Role.EXPERT, may_create_studies=True),
    ):
        members.add_member(own, stranger, role=Role.ADMIN, actor=None)
        new = {"slug": "sneaked", "title": "x", "workspace": "lab"}
        file = ContentFile(b"name,question,system,answer\none,What?,m,A gong.\n", name="items.csv")
        upload = uploads.receive_upload([("items.csv", file)], actor=stranger, study=None)
        path, body = {
            "create": ("studies/", {**new, "preset": "orca"}),
            "copy": ("studies/own/copies/", {**new, "with_items": False}),
            "import": (
                f"uploads/{upload.pk}/import/",
                {"format": "csv", "new_study": {**new, "preset": "orca"}},
            ),
            "move": ("studies/own/workspace/", {"workspace": "lab"}),
        }[way]
        client = api(stranger).client
        send = client.put if way == "move" else client.post
        answer = send(f"/api/v1/{path}", body, content_type="application/json")
        assert answer.status_code in (403, 404)
    assert not Study.objects.filter(workspace=workspace).exists()
    assert not Job.objects.exists()


def test_an_admin_of_a_workspace_imports_into_a_study_that_is_made_there_and_nowhere_else(
    workspace, study, tmp_path, settings
):
    settings.HOME = tmp_path
    second = person(workspace, Role.ADMIN)
    file = ContentFile(b"name,question,system,answer\none,What?,m,A gong.\n", name="items.csv")
    upload = uploads.receive_upload([("items.csv", file)], actor=second, study=None)
    with pytest.raises(NotAllowed):
        uploads.import_upload(upload, format="csv", actor=second, new_study=NewStudy("x", "x", "orca"))
    new = NewStudy("made", "Made", "orca", workspace="lab")
    columns = {"name": "item_id", "answer": "answer", "question": "question_text"}
    uploads.import_upload(upload, format="csv", actor=second, new_study=new, column_map=columns)
    with pytest.raises(InvalidInput, match="no workspace"):
        uploads.import_upload(
            upload, format="csv", actor=second, new_study=NewStudy("y", "y", "orca", workspace="gone")
        )
