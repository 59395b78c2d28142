"""Bringing files over the API, seeing their first rows, and importing them."""

from __future__ import annotations

import resource
import uuid
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.access import tokens
from annotation.jobs import jobs
from annotation.models import Job, Study, Upload
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

TABLE = b"item_id,prompt,system_a,audio_a,system_b,audio_b\n1,Bells,x,1.wav,y,2.wav\n"


def brought(api, user, content: bytes = TABLE, *, name: str = "pairs.csv", **fields):
    connection = api(user)
    data = {"file": SimpleUploadedFile(name, content), **fields}
    return connection, connection.client.post("/api/v1/uploads/", data)


def test_first_rows_come_back_with_what_the_columns_probably_hold(api, world):
    _, answer = brought(api, world.researcher, study=world.study.slug)
    body = answer.json()
    assert (answer.status_code, body["format"], body["study"]) == (201, "csv", world.study.slug)
    assert [column["suggested"] for column in body["columns"]][:3] == ["item_id", "prompt", "system_a"]
    assert body["rows"] == [["1", "Bells", "x", "1.wav", "y", "2.wav"]]


def test_they_can_be_looked_at_as_another_format(api, world):
    connection, answer = brought(
        api, world.researcher, b'{"item_id": "1"}\n', name="x.txt", study=world.study.slug
    )
    seen = connection.get(f"{answer['Location']}?format=jsonl")
    assert (seen.status_code, seen.json()["format"]) == (200, "jsonl")


NEW = {"slug": "bells", "title": "Bells", "preset": "orca", "overlap": 2}


@pytest.fixture
def answers(api, db):
    """A table of answers, brought by somebody who may create studies."""
    table = b"item_id,question_text,reference,system,answer\n1,What?,A bell.,m,A gong.\n"
    connection, answer = brought(api, UserFactory(may_create_studies=True), table)
    return connection, f"{answer['Location']}import/"


def test_an_import_makes_the_study_that_it_names(answers):
    connection, path = answers
    nameless = connection.post(path, {"format": "csv"})
    assert (nameless.status_code, nameless.json()["errors"][0]["field"]) == (400, "new_study")
    assert connection.post(path, {"format": "csv", "new_study": NEW}).status_code == 202
    jobs.run(Job.objects.get().pk)
    assert Study.objects.get(slug="bells").n_tasks == 1


def test_a_trial_of_a_new_study_is_done_in_earnest(answers):
    connection, path = answers
    trial = connection.post(path, {"format": "csv", "new_study": NEW, "dry_run": True})
    jobs.run(uuid.UUID(trial.json()["id"]))
    assert not Study.objects.exists()
    made = connection.post(f"{trial['Location']}import/")
    assert made.status_code == 202
    jobs.run(uuid.UUID(made.json()["id"]))
    assert Study.objects.get(slug="bells").n_tasks == 1
    assert connection.post(f"{trial['Location']}import/").status_code == 409


def test_files_are_only_their_bringers_and_for_studies_they_run(api, world, elsewhere):
    assert brought(api, world.annotator, study=world.study.slug)[1].status_code == 403
    assert brought(api, elsewhere.researcher, study=world.study.slug)[1].status_code == 404
    assert brought(api, world.researcher)[1].status_code == 403  # may not create studies
    _, answer = brought(api, world.researcher, study=world.study.slug)
    assert api(world.admin).get(answer["Location"]).status_code == 404


def test_a_file_that_looks_like_nothing_known_says_so(api, world):
    _, answer = brought(api, world.researcher, b"\x00\x01", name="x.bin", study=world.study.slug)
    assert (answer.json()["format"], answer.json()["columns"]) == ("", [])


def test_a_token_for_some_studies_brings_nothing_for_new_ones(world):
    user = world.researcher
    user.may_create_studies = True
    user.save()
    _, secret = tokens.create_token(user, name="x", scopes=["manage"], days=1, studies=[world.study.slug])
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    def answer(**fields) -> int:
        data = {"file": SimpleUploadedFile("pairs.csv", TABLE), **fields}
        return client.post("/api/v1/uploads/", data).status_code

    assert (answer(), answer(study=world.study.slug)) == (404, 201)


def folder_of(n: int) -> dict[str, list[object]]:
    """The parts of a request that brings a table and `n` texts in a folder."""
    texts = [SimpleUploadedFile(f"{number}.txt", b"%d" % number) for number in range(n)]
    paths = ["mine/pairs.csv", *(f"mine/texts/{text.name}" for text in texts)]
    return {"file": [SimpleUploadedFile("pairs.csv", TABLE), *texts], "path": paths}


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_a_folder_may_hold_more_files_than_a_process_may_have_open(api, world, headers):
    data = {**folder_of(300), "study": world.study.slug}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        answer = api(world.researcher).client.post("/api/v1/uploads/", data, headers=headers)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (answer.status_code, answer.json()["n_files"], answer.json()["format"]) == (201, 301, "csv")
    kept = Path(Upload.objects.get().source) / "mine" / "texts"
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == {
        f"{number}.txt": b"%d" % number for number in range(300)
    }


def test_nothing_of_a_request_stays_in_the_temporary_folder(api, world, settings, tmp_path):
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "arriving"
    settings.FILE_UPLOAD_TEMP_DIR.mkdir()
    data = {**folder_of(3), "study": world.study.slug}
    api(world.researcher).client.post("/api/v1/uploads/", data)
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    api(world.researcher).client.post("/api/v1/uploads/", data)
    assert list(settings.FILE_UPLOAD_TEMP_DIR.iterdir()) == []


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
@pytest.mark.parametrize("limit", ["DATA_UPLOAD_MAX_NUMBER_FILES", "DATA_UPLOAD_MAX_NUMBER_FIELDS"])
def test_too_many_files_or_paths_at_once_are_to_come_as_an_archive(api, world, settings, limit, headers):
    setattr(settings, limit, 100)
    answer = api(world.researcher).client.post("/api/v1/uploads/", folder_of(150), headers=headers)
    assert (answer.status_code, answer.json()["title"]) == (413, "too_many_files")
    assert ".zip" in answer.json()["detail"]
    if limit == "DATA_UPLOAD_MAX_NUMBER_FILES":
        assert "100 files" in answer.json()["detail"]
