"""The page that lets simulated raters work on a copy of the study, and what it shows when they have."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.jobs import jobs
from annotation.models import Job, Judgment, Study
from annotation.models.people import Role
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory.create(overlap=2)
    for number in range(3):
        factories.rating_task(study, f"item {number}")
    return study


def test_a_researcher_starts_a_simulation_and_sees_whom_the_rules_found(client: Client, study: Study) -> None:
    client.force_login(factories.member(study, Role.RESEARCHER))
    page = reverse("simulate", args=[study.slug])
    assert b'name="n_left-biased"' in client.get(page).content
    order = {"n_careful": 2, "n_bot": 1, "votes": 2, "overlap": 3, "seed": 1, "truth_from": "drawn"}
    order["rules"] = "recommended"
    assert client.post(page, order).status_code == 302
    job = Job.objects.get(kind="simulation")
    jobs.run_inline(job)
    assert job.state == Job.State.DONE, job.message
    shown = client.get(reverse("job", args=[job.pk])).content.decode()
    assert "Found, by profile" in shown
    assert "Careful" in shown
    copy = Study.objects.get(slug=job.report["study"])
    assert copy.overlap == 3
    assert Judgment.objects.filter(study=copy).count() == 6
    assert not Judgment.objects.filter(study=study).exists()
    assert (
        "This is a simulation: no person rates here."
        in client.get(reverse("study", args=[copy.slug])).content.decode()
    )


def test_nobody_to_simulate_is_refused_beside_the_form(client: Client, study: Study) -> None:
    client.force_login(factories.member(study, Role.RESEARCHER))
    order = {"votes": 2, "seed": 1, "truth_from": "drawn", "rules": ""}
    shown = client.post(reverse("simulate", args=[study.slug]), order)
    assert "Name a profile" in shown.content.decode()
    assert not Job.objects.exists()


def test_a_program_starts_a_simulation_and_lists_those_there_are(client: Client, study: Study) -> None:
    client.force_login(factories.member(study, Role.RESEARCHER))
    address = reverse("api_simulations", args=[study.slug])
    refused = client.post(address, {"profile": "lazy:3"}, content_type="application/json")
    assert (refused.status_code, refused.json()["title"]) == (400, "bad_mix")
    started = client.post(address, {"profile": "careful:1", "votes": 1}, content_type="application/json")
    assert started.status_code == 202
    jobs.run_inline(Job.objects.get(pk=started.json()["job"]))
    assert len(client.get(address).json()) == 1
