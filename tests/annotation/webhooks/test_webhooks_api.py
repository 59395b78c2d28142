"""Webhooks over HTTP, for those who run a study."""

from __future__ import annotations

import pytest

from annotation.models import WebhookDelivery
from annotation.webhooks import delivery
from tests.annotation.importing.web import serving

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings):
    settings.OUTBOUND_ALLOW = ["127.0.0.1"]
    with serving(lambda asked: (500, {}, b"broken")) as found:
        yield found


@pytest.fixture
def me(api, world):
    return api(world.researcher)


@pytest.fixture
def made(me, server) -> dict:
    response = me.post("studies/here/webhooks/", {"address": f"{server.address}/hook", "events": ["study.*"]})
    assert response.status_code == 201, response.content
    return response.json()


def test_a_secret_is_shown_once(me, made):
    assert made["secret"].startswith("whsec_")
    path = f"studies/here/webhooks/{made['id']}/"
    assert "secret" not in me.get(path).json()
    assert made["secret"] not in me.get("studies/here/webhooks/").content.decode()
    again = me.post(f"{path}secret/").json()["secret"]
    assert again != made["secret"]
    assert me.get(path).json()["old_secret_until"] is not None


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"address": "http://127.0.0.1:5432/"}, "address", "CONCORD_OUTBOUND_ALLOW"),
        ({"events": []}, "events", ""),
        ({"events": ["nonsense"]}, "events[0]", ""),
        ({"url": "x"}, "url", ""),
    ],
)
def test_what_cannot_be_kept_is_refused_by_field(me, server, settings, body, field, words):
    if words:
        settings.OUTBOUND_ALLOW = []
    response = me.post("studies/here/webhooks/", {"address": server.address, **body})
    assert response.status_code == 400
    errors = {error["field"]: error["message"] for error in response.json()["errors"]}
    assert words in errors[field]


def test_what_failed_can_be_looked_at_and_sent_again(me, made, server):
    path = f"studies/here/webhooks/{made['id']}/"
    assert me.post(f"{path}test/").status_code == 202
    delivery.sweep()
    (sent,) = me.get(f"{path}deliveries/?state=waiting").json()["results"]
    assert (sent["status"], sent["answer"], sent["tries"]) == (500, "broken", 1)
    assert sent["body"].encode() == server.asked[0].body
    WebhookDelivery.objects.update(state="failed")
    assert me.post(f"{path}replay-failed/").json() == {"deliveries": 1}
    again = me.post(f"{path}deliveries/{sent['id']}/replay/").json()
    assert (again["state"], again["tries"], again["delivery"]) == ("waiting", 0, sent["delivery"])


def test_deliveries_come_by_pages(me, made, django_assert_num_queries):
    path = f"studies/here/webhooks/{made['id']}/"
    for _ in range(3):
        me.post(f"{path}test/")
    with django_assert_num_queries(4):
        first = me.get(f"{path}deliveries/?limit=2").json()
    rest = me.get(first["next"]).json()
    assert len(first["results"]) + len(rest["results"]) == 3
    assert rest["next"] is None


def test_it_can_be_changed_in_one_thing_and_removed(me, made):
    path = f"studies/here/webhooks/{made['id']}/"
    before = me.patch(path, {"description": "Ours", "with_answers": True}).json()
    assert me.patch(path, {"active": False}).json() == {**before, "active": False}
    assert (before["description"], before["with_answers"], before["events"]) == ("Ours", True, ["study.*"])
    assert me.delete(path).status_code == 204
    assert me.get(path).status_code == 404
