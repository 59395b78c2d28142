"""Writes that are repeated with their Idempotency-Key are done once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.api import idempotency
from annotation.models import AuditEvent, Invitation, Job, KeptAnswer, Membership
from annotation.studies import api as study_views

pytestmark = pytest.mark.django_db

KEY = {"Idempotency-Key": "0f9c6a52"}


@pytest.fixture
def me(api, world):
    return api(world.researcher)


def title(me, value: str, key: str = KEY["Idempotency-Key"]):
    return me.call("patch", "studies/here/", {"title": value}, **{"Idempotency-Key": key})


def test_it_is_done_once_and_answered_the_same(me):
    first = title(me, "Once")
    n = AuditEvent.objects.count()
    again = title(me, "Once")
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again["Content-Type"] == first["Content-Type"]
    assert (first.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")
    assert AuditEvent.objects.count() == n


def test_an_answer_without_a_body_is_kept_too(me, world):
    path = f"studies/here/invitations/{world.invitation.pk}/"
    answers = [me.call("delete", path, **KEY) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [204, 204]
    assert (answers[1].content, answers[1].get("Content-Type")) == (b"", None)


def test_files_are_part_of_the_request(me):
    def bring(content: bytes):
        file = SimpleUploadedFile("table.csv", content)
        return me.client.post("/api/v1/studies/here/imports/", {"file": file, "format": "csv"}, headers=KEY)

    before = Job.objects.count()
    first = bring(b"item_id\n")
    assert first.status_code == 202
    assert bring(b"item_id\n").json() == first.json()
    assert Job.objects.count() == before + 1
    assert bring(b"item_id\nx\n").status_code == 422


def test_every_file_of_a_folder_is_part_of_the_request(me):
    def send(first: bytes) -> int:
        files = [SimpleUploadedFile("a.csv", first), SimpleUploadedFile("b.csv", b"x")]
        return me.client.post("/api/v1/uploads/", {"file": files, "study": "here"}, headers=KEY).status_code

    assert [send(b"one"), send(b"one"), send(b"two")] == [201, 201, 422]


def test_another_request_with_the_same_key_is_refused(me, world):
    title(me, "Mine")
    other = title(me, "Other")
    assert (other.status_code, other.json()["title"]) == (422, "key_reused")
    world.study.refresh_from_db()
    assert world.study.title == "Mine"


def test_a_key_is_one_accounts_and_one_tokens(api, world, me):
    title(me, "Mine")
    assert "Idempotency-Replayed" not in title(api(world.admin), "Mine")


def test_a_refusal_is_not_kept(me):
    assert title(me, "").status_code == 400
    assert title(me, "Mended").status_code == 200


def test_while_the_first_is_at_work_the_second_is_told_to_wait(me, monkeypatch):
    monkeypatch.setattr(idempotency, "try_lock_key", lambda user, name: False)
    response = title(me, "x")
    assert (response.status_code, response.json()["title"]) == (409, "in_progress")
    assert response["Retry-After"] == "1"


def test_what_fails_half_way_leaves_neither_work_nor_key(me, world, monkeypatch):
    me.client.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(study_views, "study_as_seen", lambda seen: 1 / 0)
        assert title(me, "Half").status_code == 500
    world.study.refresh_from_db()
    assert world.study.title != "Half"
    assert not KeptAnswer.objects.exists()
    assert title(me, "Half").status_code == 200


def test_a_secret_is_not_kept_to_be_shown_again(me):
    body = {"role": "annotator"}
    n = Invitation.objects.count()
    first = me.call("post", "studies/here/invitations/", body, **KEY)
    again = me.call("post", "studies/here/invitations/", body, **KEY)
    assert (again.status_code, again.json()["title"]) == (409, "done_before")
    assert Invitation.objects.count() == n + 1
    assert all(first.json()["token"] not in str(row) for row in KeptAnswer.objects.values())


def test_whoever_has_left_the_study_gets_no_answer_again(me, world):
    title(me, "Mine")
    Membership.objects.filter(user=world.researcher).delete()
    assert title(me, "Mine").status_code == 404


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "\u20ac"])
def test_a_key_that_makes_no_sense_is_refused(me, key):
    assert title(me, "x", key).status_code == 400


def test_nobody_is_still_told_to_sign_in(api, world):
    assert title(api(None), "x").status_code == 401


def test_rating_ignores_it(api, world, django_assert_num_queries):
    rater = api(world.annotator)
    rater.post("studies/here/next/")
    rater.call("post", "studies/here/next/", {}, **KEY)
    assert not KeptAnswer.objects.exists()


def test_after_a_day_a_key_is_free_again(me):
    title(me, "Mine")
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert "Idempotency-Replayed" not in title(me, "Other")
    KeptAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert idempotency.delete_expired_responses() == 1
    assert idempotency.delete_expired_responses() == 0


def test_a_write_with_both_headers_is_repeated_though_it_changed_the_version(me):
    headers = {**KEY, "If-Match": me.get("studies/here/")["ETag"]}
    answers = [me.call("patch", "studies/here/", {"title": "Both"}, **headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert (
        me.call(
            "patch", "studies/here/", {"title": "Late"}, **{**headers, "Idempotency-Key": "2"}
        ).status_code
        == 412
    )


def test_a_write_without_the_slash_is_not_turned_into_a_read(me):
    response = me.client.patch("/api/v1/studies/here", {}, content_type="application/json")
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")
