"""Bringing files over the API, seeing their first rows, and importing them."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import Job, Study
from annotation.services import api_tokens, jobs
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


def test_an_import_makes_the_study_that_it_names(api, db):
    user = UserFactory(may_create_studies=True)
    table = b"item_id,question_text,reference,system,answer\n1,What?,A bell.,m,A gong.\n"
    connection, answer = brought(api, user, table)
    where = f"{answer['Location']}import/"
    nameless = connection.post(where, {"format": "csv"})
    assert (nameless.status_code, nameless.json()["errors"][0]["field"]) == (400, "new_study")
    new = {"slug": "bells", "title": "Bells", "preset": "orca", "overlap": 2}
    assert connection.post(where, {"format": "csv", "new_study": new}).status_code == 202
    jobs.run(Job.objects.get().pk)
    assert Study.objects.get(slug="bells").n_tasks == 1


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
    _, secret = api_tokens.make(user, name="x", scopes=["manage"], days=1, studies=[world.study.slug])
    client = Client(headers={"Authorization": f"Bearer {secret}"})

    def answer(**fields) -> int:
        data = {"file": SimpleUploadedFile("pairs.csv", TABLE), **fields}
        return client.post("/api/v1/uploads/", data).status_code

    assert (answer(), answer(study=world.study.slug)) == (404, 201)
