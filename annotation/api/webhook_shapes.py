"""What the endpoints about webhooks take and give."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.paging import PageIn, PageOut
from annotation.api.shapes import In
from annotation.models import Webhook, WebhookDelivery


class WebhookChangeIn(In):
    address = serializers.CharField(max_length=2000, required=False, help_text="https://host/path")
    events = serializers.ListField(
        child=serializers.CharField(max_length=60),
        required=False,
        min_length=1,
        max_length=50,
        help_text="Patterns of event names: judgment.*, study.state_changed; * for all.",
    )
    description = serializers.CharField(max_length=200, allow_blank=True, required=False)
    with_answers = serializers.BooleanField(
        required=False, help_text="Whether events of judgments hold the answers, too."
    )
    active = serializers.BooleanField(
        required=False, help_text="Off: nothing is collected. What happens meanwhile is not made up for."
    )


class WebhookIn(In):
    address = serializers.CharField(max_length=2000, help_text="https://host/path")
    events = serializers.ListField(
        child=serializers.CharField(max_length=60),
        default=["*"],
        min_length=1,
        max_length=50,
        help_text="Patterns of event names: judgment.*, study.state_changed; * for all.",
    )
    description = serializers.CharField(max_length=200, allow_blank=True, default="")
    with_answers = serializers.BooleanField(
        default=False, help_text="Whether events of judgments hold the answers, too."
    )


class WebhookOut(serializers.Serializer):
    id = serializers.IntegerField()
    address = serializers.CharField()
    description = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    with_answers = serializers.BooleanField()
    active = serializers.BooleanField()
    paused = serializers.ChoiceField(Webhook.Pause.choices, help_text="Empty, or why nothing is sent.")
    failing_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when nothing got through; null while all is well."
    )
    old_secret_until = serializers.DateTimeField(
        source="old_seed_until",
        allow_null=True,
        help_text="Until when the secret before the last signs, too.",
    )
    created_at = serializers.DateTimeField()


class SecretOut(serializers.Serializer):
    secret = serializers.CharField(help_text="Shown this once.")


class NewWebhookOut(WebhookOut):
    secret = serializers.CharField(help_text="Shown this once.")


class WebhookPageOut(PageOut):
    results = WebhookOut(many=True)


class DeliveriesIn(PageIn):
    state = serializers.ChoiceField(WebhookDelivery.State.choices, required=False)


class DeliveryOut(serializers.Serializer):
    id = serializers.IntegerField()
    delivery = serializers.UUIDField(source="delivery_id", help_text="As in the header Concord-Delivery.")
    event = serializers.CharField()
    state = serializers.ChoiceField(WebhookDelivery.State.choices)
    tries = serializers.IntegerField(source="n_tries")
    due_at = serializers.DateTimeField(help_text="Of the next try, while it is waiting.")
    tried_at = serializers.DateTimeField(allow_null=True)
    status = serializers.IntegerField(allow_null=True, help_text="Of the last answer; null where none came.")
    duration_ms = serializers.IntegerField(allow_null=True)
    answer = serializers.CharField(help_text="The beginning of the last answer, or why there was none.")
    body = serializers.CharField(help_text="Exactly what was sent.")
    created_at = serializers.DateTimeField()


class DeliveryPageOut(PageOut):
    results = DeliveryOut(many=True)


class ReplayedOut(serializers.Serializer):
    deliveries = serializers.IntegerField(help_text="How many are sent again.")
