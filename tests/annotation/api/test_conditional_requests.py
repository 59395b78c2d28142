"""Versions of what was read: 304 to whoever has it, 412 to whoever would overwrite what they have not seen."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.access import tokens
from tests.annotation.conftest import Api
from tests.annotation.world import link

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(api, world):
    return api(world.researcher)


def test_what_is_unchanged_is_not_sent_again(me):
    first = me.get("studies/here/")
    assert first["Cache-Control"] == "private, no-cache"
    again = me.get("studies/here/", **{"If-None-Match": f'"x", {first["ETag"]}'})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    me.patch("studies/here/", {"title": "Another"})
    changed = me.get("studies/here/", **{"If-None-Match": first["ETag"]})
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


def test_lists_have_one_and_refusals_have_none(me, api):
    assert "ETag" in me.get("studies/here/items/")
    assert "ETag" not in me.get("studies/nowhere/")
    assert "ETag" not in api(None).get("me/", **{"If-None-Match": "*"})


@pytest.mark.parametrize("named", ["{}", '"x", {}', "W/{}", "*"])
def test_a_change_of_what_was_read_goes_through(me, named):
    match = named.format(me.get("studies/here/")["ETag"])
    assert me.call("patch", "studies/here/", {"title": "New"}, **{"If-Match": match}).status_code == 200


def test_a_change_of_what_has_changed_is_refused_and_changes_nothing(me, world):
    etag = me.get("studies/here/")["ETag"]
    me.patch("studies/here/", {"title": "Theirs"})
    response = me.call("patch", "studies/here/", {"title": "Mine"}, **{"If-Match": etag})
    assert response.status_code == 412
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["title"] == "changed"
    world.study.refresh_from_db()
    assert world.study.title == "Theirs"


def test_who_may_not_read_writes_over_nothing_that_they_name(world):
    _, secret = tokens.create_token(world.researcher, name="x", scopes=["manage"], days=1)
    headers = {"Authorization": f"Bearer {secret}", "If-Match": '"x"'}
    answer = Api(Client(headers=headers)).patch("studies/here/", {"title": "Mine"})
    assert (answer.status_code, answer.json()["title"]) == (403, "scope_missing")
    world.study.refresh_from_db()
    assert world.study.title != "Mine"


def test_a_version_is_no_way_to_what_one_may_not_see(api, world, elsewhere):
    stranger = api(elsewhere.researcher)
    for match in ('"x"', "*"):
        response = stranger.call("patch", "studies/here/", {"title": "x"}, **{"If-Match": match})
        assert response.status_code == 404


def test_where_nothing_is_read_no_version_can_be_named(me, world):
    path = f"studies/here/invitations/{world.invitation.pk}/"
    response = me.call("delete", path, **{"If-Match": "*"})
    assert (response.status_code, response.json()["title"]) == (412, "no_version")


def test_sound_has_no_version(api, world):
    rater = api(world.annotator)
    for path in (
        link(world.open.pk, "a"),
        f"assignments/{world.open.pk}/spectrograms/a/",
        f"checks/{world.check.pk}/sounds/0/",
    ):
        response = rater.get(path)
        assert response.status_code == 200, path
        assert "ETag" not in response
        assert "Last-Modified" not in response
