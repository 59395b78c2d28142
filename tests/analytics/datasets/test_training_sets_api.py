"""Training sets over HTTP: tried, asked for, made by a job, fetched."""

from __future__ import annotations

import io
import json
import uuid
import zipfile

import pytest

from analytics.datasets import training_sets
from annotation.jobs import jobs
from annotation.models import AuditEvent, Job
from tests import factories
from tests.analytics.votes import votes

HERE = "studies/here/training-sets/"


def rated(slug: str = "rated"):
    study = factories.StudyFactory(slug=slug, overlap=9)
    for number in range(5):
        votes(factories.rating_task(study, f"t{number}"), [number + 1])
    return study, factories.member(study, "researcher")


@pytest.mark.django_db
def test_a_preview_has_first_rows_and_sizes_and_starts_nothing(api):
    study, researcher = rated()
    told = api(researcher).post(f"studies/{study.slug}/training-sets/preview/", {"format": "mos"}).json()
    (table,) = told["tables"]
    assert (table["name"], table["sizes"]) == ("correctness", {"train": 3, "dev": 1, "test": 1})
    assert table["first"][0]["mean"] == 1.0
    assert (told["tasks"], told["tasks_in_all"], told["groups"]) == (5, 5, 5)
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_asking_makes_a_job_with_every_choice_in_the_audit_log(api, world):
    answer = api(world.researcher).post(HERE, {"format": "arena", "hold_out_systems": ["x"], "seed": 3})
    job = Job.objects.get(pk=answer.json()["job"])
    assert (answer.status_code, answer.json()["file"]) == (202, f"/api/v1/training-sets/{job.pk}/file/")
    assert (job.kind, job.params["hold_out_systems"], job.params["seed"]) == ("training_set", ["x"], 3)
    assert AuditEvent.objects.filter(action="training_set.requested", actor=world.researcher).count() == 1
    assert api(world.researcher).get(f"training-sets/{job.pk}/file/").status_code == 409


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"format": "xml"},
        {"format": "mos"},  # the study asks for preferences
        {"format": "arena", "ties": "half"},
        {"format": "arena", "ratios": [0, 1, 1]},
        {"format": "arena", "ratios": [1, 1]},
        {"format": "arena", "seed": -1},
        {"format": "arena", "votes": ["expert"]},
        {"format": "arena", "mail": True},
    ],
)
def test_what_is_asked_for_must_make_sense(api, world, body):
    assert api(world.researcher).post(HERE, body).status_code == 400
    assert api(world.researcher).post(f"{HERE}preview/", body).status_code == 400
    assert not Job.objects.filter(kind="training_set").exists()


@pytest.mark.django_db(transaction=True)  # the job reports its progress over a connection of its own
def test_the_job_makes_an_archive_to_fetch_and_a_cancelled_one_none(api, monkeypatch):
    study, researcher = rated()
    address = f"studies/{study.slug}/training-sets/"
    first, second = (
        api(researcher).post(address, {"format": "mos", "file": "jsonl"}).json() for _ in range(2)
    )
    jobs.run(uuid.UUID(first["job"]))
    job = Job.objects.get(pk=first["job"])
    assert (job.state, job.done, job.total) == (Job.State.DONE, 10, 10)
    response = api(researcher).get(f"training-sets/{job.pk}/file/")
    assert AuditEvent.objects.get(action="training_set.fetched").subject == f"job {job.pk}"
    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))
    assert archive.testzip() is None
    manifest = json.loads(archive.read("rated-mos/manifest.json"))
    assert sorted(archive.namelist()) == sorted(
        ["rated-mos/manifest.json", *(f"rated-mos/{name}" for name in manifest["files"])]
    )
    assert job.report["withdrawals"] == 0
    assert job.report["counts"] == manifest["counts"] == {"correctness": {"train": 3, "dev": 1, "test": 1}}

    written = training_sets.write_training_set

    def cancelled_meanwhile(*args, **options):
        jobs.cancel(Job.objects.get(pk=second["job"]), actor=researcher)
        return written(*args, **options)

    monkeypatch.setattr(training_sets, "write_training_set", cancelled_meanwhile)
    jobs.run(uuid.UUID(second["job"]))
    assert Job.objects.get(pk=second["job"]).state == Job.State.CANCELLED
    assert api(researcher).get(f"training-sets/{second['job']}/file/").status_code == 409
