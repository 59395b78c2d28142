"""Asking for an export and fetching it, over HTTP."""

from __future__ import annotations

import io
import json
import uuid
import zipfile

import pytest

from annotation.jobs import jobs
from annotation.models import AuditEvent, Job
from tests import factories


def started(api, world, format: str = "jsonl") -> dict:
    response = api(world.researcher).post("studies/here/exports/", {"format": format})
    assert response.status_code == 202
    return response.json()


def fetched(response) -> bytes:
    return b"".join(response.streaming_content)


@pytest.mark.django_db
class TestAsking:
    def test_it_is_a_job_in_the_audit_log(self, api, world):
        answer = started(api, world, "csv")
        job = Job.objects.get(pk=answer["job"])
        assert (job.kind, job.study, job.params, job.created_by) == (
            "export", world.study, {"format": "csv", "texts": "both"}, world.researcher,
        )  # fmt: skip
        assert answer["state"] == "queued"
        assert answer["file"] == f"/api/v1/exports/{job.pk}/file/"
        assert AuditEvent.objects.filter(action="export.requested", actor=world.researcher).count() == 1

    @pytest.mark.parametrize(
        "body", [{}, {"format": "xml"}, {"format": "csv", "texts": "mine"}, {"format": "csv", "mail": True}]
    )
    def test_what_is_asked_for_must_make_sense(self, api, world, body):
        response = api(world.researcher).post("studies/here/exports/", body)
        assert response.status_code == 400
        assert response.json()["errors"]

    def test_raters_may_not_ask_and_strangers_hear_that_nothing_is_there(self, api, world, elsewhere):
        before = Job.objects.count()
        for user, status in ((world.annotator, 403), (world.expert, 403), (elsewhere.admin, 404)):
            response = api(user).post("studies/here/exports/", {"format": "csv"})
            assert (response.status_code, Job.objects.count()) == (status, before)

    def test_it_is_not_there_before_it_is_written(self, api, world):
        answer = started(api, world)
        response = api(world.researcher).get(answer["file"])
        assert (response.status_code, response.json()["title"]) == (409, "not_ready")

    @pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
    def test_without_a_file_it_says_to_start_again(self, api, world, state):
        answer = started(api, world)
        Job.objects.filter(pk=answer["job"]).update(state=state)
        response = api(world.researcher).get(answer["file"])
        assert (response.status_code, response.json()["title"]) == (409, "no_file")

    def test_another_kind_of_job_has_no_archive_and_an_unknown_one_is_not_there(self, api, world):
        Job.objects.filter(pk=world.job.pk).update(state="done")
        for job_id in (world.job.pk, uuid.uuid4()):
            assert api(world.researcher).get(f"exports/{job_id}/file/").status_code == 404


@pytest.mark.django_db(transaction=True)
class TestFetching:
    @pytest.fixture
    def path(self, api, world) -> str:
        answer = started(api, world)
        assert jobs.run(uuid.UUID(answer["job"]))
        return answer["file"]

    def test_who_fetched_it_is_in_the_log_once_for_all_ranges(self, api, world, path):
        client = api(world.researcher)
        fetches = AuditEvent.objects.filter(
            action="export.fetched", actor=world.researcher, study=world.study
        )
        for header, n in (("bytes=5-", 1), ("bytes=0-9", 2), ("bytes=10-19", 2), ("bytes=-5", 2), (None, 3)):
            client.get(path, **({"Range": header} if header else {}))
            assert fetches.count() == n
        assert {event.subject for event in fetches} == {f"job {path.split('/')[-3]}"}

    def test_nobody_who_may_not_have_it_is_said_to_have_fetched_it(self, api, world, path):
        assert api(world.annotator).get(path).status_code == 404
        assert not AuditEvent.objects.filter(action="export.fetched").exists()

    def test_the_archive_holds_the_export(self, api, world, path):
        response = api(world.researcher).get(path)
        assert response.headers["Content-Type"] == "application/zip"
        assert response.headers["Content-Disposition"] == 'attachment; filename="here-jsonl.zip"'
        archive = zipfile.ZipFile(io.BytesIO(fetched(response)))
        assert archive.testzip() is None
        assert archive.namelist() == [
            "here-jsonl/cases.jsonl", "here-jsonl/checks.jsonl", "here-jsonl/corrections.jsonl",
            "here-jsonl/hidden_checks.jsonl",
            "here-jsonl/items.jsonl", "here-jsonl/judgments.jsonl", "here-jsonl/manifest.json",
            "here-jsonl/skips.jsonl",
        ]  # fmt: skip
        manifest = json.loads(archive.read("here-jsonl/manifest.json"))
        assert manifest["counts"]["judgments"] == 1
        assert Job.objects.get(pk=path.split("/")[-3]).report["counts"] == manifest["counts"]

    def test_no_byte_of_it_names_an_account(self, api, world, path):
        archive = zipfile.ZipFile(io.BytesIO(fetched(api(world.researcher).get(path))))
        everything = b"".join(archive.read(name) for name in archive.namelist())
        assert b"here.example" not in everything
        assert b"SECRET annotator" not in everything

    def test_a_part_of_it_can_be_fetched(self, api, world, path):
        whole = fetched(api(world.researcher).get(path))
        part = api(world.researcher).get(path, Range="bytes=10-19")
        assert part.status_code == 206
        assert part.headers["Content-Range"] == f"bytes 10-19/{len(whole)}"
        assert fetched(part) == whole[10:20]

    def test_raters_and_strangers_hear_that_nothing_is_there(self, api, world, elsewhere, path):
        for user in (world.annotator, world.expert, elsewhere.admin, factories.UserFactory()):
            assert api(user).get(path).status_code == 404
        assert api(None).get(path).status_code == 401
