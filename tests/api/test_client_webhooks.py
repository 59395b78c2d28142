"""A study's webhooks through the client, from the first to the last."""

from __future__ import annotations

import pytest

from annotation.models import WebhookDelivery
from concord_client import ConcordError
from tests import factories
from tests.api.conftest import Connect

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_is_made_changed_tried_and_removed(connect: Connect, settings):
    settings.OUTBOUND_ALLOW = ["127.0.0.1"]
    study = factories.StudyFactory(slug="s", preset="orca")
    boss = connect(factories.member(study, "researcher"), "manage")
    hooks = boss.webhooks
    made = hooks.add("s", "http://127.0.0.1:9/hook", events=["study.*"], description="Log")
    assert [hook["id"] for hook in hooks.all("s")] == [made["id"]]
    assert hooks.change("s", made["id"], active=False)["active"] is False
    assert hooks.get("s", made["id"])["active"] is False
    assert hooks.change_secret("s", made["id"])["secret"] != made["secret"]
    assert hooks.resume("s", made["id"])["paused"] == ""

    sent = hooks.test("s", made["id"])
    WebhookDelivery.objects.update(state=WebhookDelivery.State.FAILED)
    (given_up,) = hooks.deliveries("s", made["id"], state="failed")
    assert (given_up["id"], given_up["event"]) == (sent["id"], "webhook.test")
    assert hooks.replay("s", made["id"], sent["id"])["delivery"] == sent["delivery"]
    WebhookDelivery.objects.update(state=WebhookDelivery.State.FAILED)
    assert hooks.replay_failed("s", made["id"]) == 1

    hooks.remove("s", made["id"])
    assert list(hooks.all("s")) == []


def test_an_address_that_is_none_is_told_by_its_field(connect: Connect):
    study = factories.StudyFactory(slug="s", preset="orca")
    boss = connect(factories.member(study, "researcher"), "manage")
    with pytest.raises(ConcordError, match=r"\n  address: "):
        boss.webhooks.add("s", "http://127.0.0.1/")
