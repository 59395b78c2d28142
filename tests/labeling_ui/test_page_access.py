"""Every page of those who run a study, opened by everybody."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Job
from annotation.models.people import Role
from annotation.studies import members
from tests.factories import StudyFactory, UserFactory, member, membership, rater

pytestmark = pytest.mark.django_db

# name, whether it is for admins only, and whether it is a page to read or a thing to do
PAGES = [
    ("study", False, "get"),
    ("import", False, "get"),
    ("export", False, "get"),
    ("report", False, "get"),
    ("people", False, "get"),
    ("planner", False, "get"),
    ("settings", False, "get"),
    ("listening_rules", False, "get"),
    ("check_settings", False, "get"),
    ("stopping_rule", False, "get"),
    ("ordering_rule", False, "get"),
    ("webhooks", False, "get"),
    ("models", False, "get"),
    ("new_run", False, "get"),
    ("new_training", False, "get"),
    ("comparisons", False, "get"),
    ("model_prompts", False, "get"),
    ("review_rules", False, "get"),
    ("rater", False, "get"),
    ("member", True, "get"),
    ("rules_preview", False, "post"),
    ("apply_rules", False, "post"),
    ("assign_cases", False, "post"),
    ("study_state", False, "post"),
    ("rater_judgments", False, "post"),
    ("revoke_invitation", False, "post"),
    ("remove_member", True, "post"),
]
JOB_PAGES = [
    ("job", "get"),
    ("job_problems", "get"),
    ("cancel_job", "post"),
    ("import_for_real", "post"),
]


@pytest.fixture
def address(study, admin):
    """The address of a page of `study`, by name."""
    invitation, _ = members.invite(study, role=Role.ANNOTATOR, actor=admin)
    rest = {
        "rater": rater(study).pseudonym,
        "member": membership(member(study), study).pk,
        "revoke_invitation": invitation.pk,
    }
    rest["rater_judgments"], rest["remove_member"] = rest["rater"], rest["member"]

    def of(name: str) -> str:
        return reverse(name, args=[study.slug, rest[name]] if name in rest else [study.slug])

    return of


@pytest.fixture
def job(study) -> Job:
    params = {"dry_run": True, "source": "/gone.csv", "format": "csv", "column_map": {}, "overlap": None}
    params |= {"archive": False, "skip_bad_rows": False}
    return Job.objects.create(kind="import", study=study, params=params)


def opened(user, path: str, method: str = "get"):
    client = Client()
    if user is not None:
        client.force_login(user)
    return getattr(client, method)(path)


@pytest.mark.parametrize(("name", "admins_only", "method"), PAGES)
def test_a_visitor_is_sent_to_sign_in(name, admins_only, method, address):
    assert opened(None, address(name), method).url.startswith(reverse("sign_in"))


@pytest.mark.parametrize(("name", "admins_only", "method"), PAGES)
def test_a_stranger_hears_that_nothing_is_there(name, admins_only, method, address):
    outsider = member(StudyFactory(), Role.ADMIN)
    assert opened(outsider, address(name), method).status_code == 404


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.EXPERT])
@pytest.mark.parametrize(("name", "admins_only", "method"), PAGES)
def test_a_rater_gets_a_friendly_refusal(name, admins_only, method, role, address, study):
    answer = opened(member(study, role), address(name), method)
    assert answer.status_code == 403
    assert "of this study can do this" in answer.content.decode()


@pytest.mark.parametrize(("name", "admins_only", "method"), PAGES)
def test_a_researcher_may_do_all_but_change_members(name, admins_only, method, address, researcher):
    assert (opened(researcher, address(name), method).status_code == 403) is admins_only


@pytest.mark.parametrize(("name", "admins_only", "method"), PAGES)
def test_an_admin_may_do_everything(name, admins_only, method, address, admin):
    assert opened(admin, address(name), method).status_code in (200, 302)


@pytest.mark.parametrize(("name", "method"), JOB_PAGES)
def test_a_job_is_there_only_for_those_who_run_its_study(name, method, job, study, researcher):
    path = reverse(name, args=[job.pk])
    assert opened(None, path, method).url.startswith(reverse("sign_in"))
    assert opened(member(study), path, method).status_code == 404
    assert opened(member(StudyFactory(), Role.ADMIN), path, method).status_code == 404
    assert opened(researcher, path, method).status_code in (200, 302)


def test_what_changes_something_is_not_done_by_following_a_link(address, job, admin):
    paths = [address(name) for name, _, method in PAGES if method == "post"]
    paths += [reverse(name, args=[job.pk]) for name, method in JOB_PAGES if method == "post"]
    assert {opened(admin, path).status_code for path in paths} == {405}


def test_new_studies_are_for_those_who_may_create_them(client):
    client.force_login(UserFactory())
    answer = client.get(reverse("new_study"))
    assert answer.status_code == 403
    assert "ask an operator" in answer.content.decode()
