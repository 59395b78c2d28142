"""The pages about webhooks."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Webhook, WebhookDelivery
from annotation.webhooks import webhooks

pytestmark = pytest.mark.django_db

ADDRESS = "https://8.8.8.8/hook"


@pytest.fixture
def webhook(study, admin) -> Webhook:
    return webhooks.add(study, address=ADDRESS, actor=admin)[0]


def page(client, webhook: Webhook, query: str = "") -> str:
    response = client.get(reverse("webhook", args=["s", webhook.pk]) + query)
    assert response.status_code == 200
    return response.text


def test_a_new_secret_is_shown_once(signed_in, study):
    address = reverse("webhooks", args=["s"])
    made = signed_in.post(address, {"address": ADDRESS, "events": "judgment.*, study.*"}).text
    secret = re.search(r'value="(whsec_[^"]+)"', made)[1]
    webhook = Webhook.objects.get()
    assert webhook.events == ["judgment.*", "study.*"]
    assert secret == webhooks.secret(webhook)
    assert secret not in signed_in.get(address).text
    assert "whsec_" not in page(signed_in, webhook)
    again = signed_in.post(reverse("webhook_secret", args=["s", webhook.pk])).text
    assert "whsec_" in again
    assert secret not in again


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"address": "http://10.0.0.1/", "events": "*"}, "CONCORD_OUTBOUND_ALLOW"),
        ({"address": ADDRESS, "events": "jugdment.*"}, "names no event"),
        ({"address": ADDRESS, "events": ","}, "Name at least one"),
    ],
)
def test_what_cannot_be_kept_is_said_at_its_field(signed_in, study, fields, said):
    shown = signed_in.post(reverse("webhooks", args=["s"]), fields).text
    assert said in shown
    assert Webhook.objects.count() == 0


def test_it_can_be_changed_tested_and_removed(signed_in, study, webhook):
    signed_in.post(reverse("webhook", args=["s", webhook.pk]), {"address": ADDRESS, "events": "import.*"})
    webhook.refresh_from_db()
    assert (webhook.events, webhook.active) == (["import.*"], False)
    signed_in.post(reverse("webhook_test", args=["s", webhook.pk]))
    assert "webhook.test" in page(signed_in, webhook)
    signed_in.post(reverse("webhook_remove", args=["s", webhook.pk]))
    assert Webhook.objects.count() == 0


def test_a_pause_is_told_with_what_to_do(signed_in, study, webhook):
    Webhook.objects.update(paused="failing", failing_since=timezone.now())
    assert "then resume" in page(signed_in, webhook)
    signed_in.post(reverse("webhook_resume", args=["s", webhook.pk]))
    assert "then resume" not in page(signed_in, webhook)


def test_what_was_given_up_is_sent_again(signed_in, study, webhook, admin):
    delivery = webhooks.send_test(webhook, actor=admin)
    WebhookDelivery.objects.update(state="failed", answer="<b>broken</b>", status=500)
    shown = page(signed_in, webhook, "?state=failed")
    assert "&lt;b&gt;broken" in shown
    signed_in.post(reverse("webhook_replay_failed", args=["s", webhook.pk]))
    delivery.refresh_from_db()
    assert delivery.state == "waiting"
    WebhookDelivery.objects.update(state="dropped")
    signed_in.post(reverse("webhook_replay", args=["s", webhook.pk, delivery.pk]))
    delivery.refresh_from_db()
    assert delivery.state == "dropped"


def test_the_log_comes_by_pages_at_the_same_cost(signed_in, study, webhook, django_assert_num_queries):
    rows = [
        WebhookDelivery(webhook=webhook, source=f"test:{number}", event=f"n{number}", body="{}")
        for number in range(60)
    ]
    WebhookDelivery.objects.bulk_create(rows)
    page(signed_in, webhook)
    with django_assert_num_queries(6):
        shown = page(signed_in, webhook)
    older = re.search(r'href="(\?[^"]*after=\d+)"', shown)[1].replace("&amp;", "&")
    rest = page(signed_in, webhook, older)
    assert ("n59<" in shown, "n0<" in shown, "n0<" in rest) == (True, False, True)
