"""Starting imports over HTTP, and following the jobs they become."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.jobs import jobs
from annotation.models import AuditEvent, Item, Job, Study
from tests import factories

pytestmark = pytest.mark.django_db

TEXTS = {"question": "What?", "reference": "A bell.", "candidate": "Bell."}
ORCA = {"q1_M1_0": {**TEXTS, "ratings": [5, 4], "feedback": [None, None]}}


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(slug="s")


@pytest.fixture
def manager(api, study):
    return api(factories.member(study, "researcher"))


def send(person, content: bytes, *, name: str = "ratings.json", **fields):
    data = {"file": SimpleUploadedFile(name, content), "format": "orca", **fields}
    return person.client.post("/api/v1/studies/s/imports/", data)


def orca(content=ORCA) -> bytes:
    return json.dumps(content).encode()


def test_an_import_becomes_a_job_that_tells_what_it_did(manager, study):
    response = send(manager, orca())
    assert response.status_code == 202
    job = response.json()
    assert (job["kind"], job["study"], job["state"]) == ("import", "s", "queued")
    assert response["Location"] == f"/api/v1/jobs/{job['id']}/"
    assert jobs.run(Job.objects.get().pk)
    done = manager.get(response["Location"]).json()
    assert (done["state"], done["report"]["tasks"], done["report"]["judgments"]) == ("done", 1, 2)
    assert Item.objects.get().external_id == "q1"
    assert AuditEvent.objects.filter(action="import.requested", study=study).exists()


def packed(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, orca())
    return buffer.getvalue()


def test_an_archive_is_imported_like_its_content(manager):
    assert send(manager, packed("orca/ratings.json"), name="orca.zip").status_code == 202
    jobs.run(Job.objects.get().pk)
    assert Item.objects.count() == 1


def test_a_dry_run_changes_nothing(manager):
    send(manager, orca(), dry_run="true")
    jobs.run(Job.objects.get().pk)
    assert Job.objects.get().state == Job.State.DONE
    assert not Item.objects.exists()


def test_every_bad_row_is_in_the_jobs_report(manager):
    bad = {**ORCA, "q2_M1_0": {**ORCA["q1_M1_0"], "ratings": [7, 4]}}
    path = send(manager, orca(bad))["Location"]
    jobs.run(Job.objects.get().pk)
    job = manager.get(path).json()
    assert job["state"] == "failed"
    (problem,) = job["report"]["problems"]
    assert set(problem) == {"row", "field", "problem", "remedy"}
    assert problem["row"] == "ratings.json #2"
    assert not Item.objects.exists()


def test_a_column_map_is_json(manager):
    table = b"clip,prompt\n1,A waltz\n"
    response = send(manager, table, name="t.csv", format="csv", column_map='{"clip": "item_id"}')
    assert response.status_code == 202
    assert Job.objects.get().params["column_map"] == {"clip": "item_id"}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"format": "xlsx"}, "format"),
        ({"format": ""}, "format"),
        ({"column_map": "{"}, "column_map"),
        ({"column_map": "[1]"}, "column_map"),
        ({"column_map": '{"a": 1}'}, "column_map"),
        ({"dry_run": "perhaps"}, "dry_run"),
        ({"overlap": "0"}, "overlap"),
        ({"file": "no file"}, "file"),
        ({"sheet": "1"}, "sheet"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused_with_the_field(manager, fields, field):
    response = send(manager, orca(), **fields)
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert not Job.objects.exists()


def test_an_archive_that_leads_out_of_its_folder_is_refused_with_a_remedy(manager):
    response = send(manager, packed("../evil.json"), name="orca.zip")
    assert (response.status_code, response.json()["title"]) == (400, "bad_upload")
    (error,) = response.json()["errors"]
    assert (error["field"], bool(error["remedy"])) == ("file", True)
    assert not Job.objects.exists()


def test_an_upload_beyond_the_limit_is_refused(manager, settings):
    settings.UPLOAD_MAX_BYTES = 1000
    response = send(manager, b"x" * 2000)
    assert (response.status_code, response.json()["title"]) == (413, "too_large")


def test_json_is_no_upload(manager):
    assert manager.post("studies/s/imports/", {"format": "orca"}).status_code == 415


# ── Jobs ─────────────────────────────────────────────────────────────────────


def test_a_job_can_be_stopped_once(manager):
    path = send(manager, orca())["Location"]
    assert manager.post(f"{path}cancel/").json()["state"] == "cancelled"
    response = manager.post(f"{path}cancel/")
    assert (response.status_code, response.json()["title"]) == (409, "finished")
    assert not jobs.run(Job.objects.get().pk)
    assert AuditEvent.objects.filter(action="import.cancelled").count() == 1


def test_a_job_without_a_study_is_its_makers_own(api):
    maker, other = factories.UserFactory(), factories.UserFactory()
    job = Job.objects.create(kind="import", created_by=maker)
    assert api(maker).get(f"jobs/{job.pk}/").json()["study"] is None
    assert api(other).get(f"jobs/{job.pk}/").status_code == 404
    assert api(factories.UserFactory(is_superuser=True)).get(f"jobs/{job.pk}/").status_code == 200
