"""Webhooks over the API, for those who run a study."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import PageIn, page_of
from annotation.api.serializers import In, operation
from annotation.models import Webhook, WebhookDelivery
from annotation.webhooks import webhooks


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


class WebhookChangeIn(WebhookIn):
    """Some of them; what is left out stays."""

    active = serializers.BooleanField(
        help_text="Off: nothing is collected. What happens meanwhile is not made up for."
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        for field in fields.values():
            field.required, field.default = False, empty
        return fields


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


class ReplayedOut(serializers.Serializer):
    deliveries = serializers.IntegerField(help_text="How many are sent again.")


class WebhooksView(APIView):
    answers_secret = True

    @operation("webhooks", page_of(WebhookOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """The webhooks of a study. Their secrets cannot be shown again."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.webhooks.all(), WebhookOut))

    @operation("add_webhook", NewWebhookOut, 400, 403, 404, 409, status=201, request=WebhookIn)
    def post(self, request: Request, slug: str) -> Response:
        """Tell an address what happens from now on. The answer holds the secret that its requests are signed with."""
        study = access.managed_study(request.user, slug)
        webhook, secret = webhooks.add(study, actor=request.user, **WebhookIn.parsed(request.data))
        return Response({**WebhookOut(webhook).data, "secret": secret}, status=201)


class WebhookView(APIView):
    @operation("webhook", WebhookOut, 403, 404)
    def get(self, request: Request, slug: str, webhook_id: int) -> Response:
        """One webhook, and whether it gets through."""
        return Response(WebhookOut(access.webhook_of(request.user, slug, webhook_id)).data)

    @operation("change_webhook", WebhookOut, 400, 403, 404, request=WebhookChangeIn)
    def patch(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Change what it hears and where, or switch it off and on."""
        webhook = access.webhook_of(request.user, slug, webhook_id)
        changed = webhooks.change(webhook, actor=request.user, **WebhookChangeIn.parsed(request.data))
        return Response(WebhookOut(changed).data)

    @operation("remove_webhook", None, 403, 404, status=204)
    def delete(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Remove it, with the log of what was sent."""
        webhooks.remove(access.webhook_of(request.user, slug, webhook_id), actor=request.user)
        return Response(status=204)


class WebhookSecretView(APIView):
    answers_secret = True

    @operation("change_webhook_secret", SecretOut, 403, 404, request=None)
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """A new secret. For a day requests are signed with the one before, too."""
        webhook = access.webhook_of(request.user, slug, webhook_id)
        return Response({"secret": webhooks.change_secret(webhook, actor=request.user)})


class WebhookResumeView(APIView):
    @operation("resume_webhook", WebhookOut, 403, 404, request=None)
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Go on after a pause, with what has happened meanwhile."""
        webhook = access.webhook_of(request.user, slug, webhook_id)
        return Response(WebhookOut(webhooks.resume(webhook, actor=request.user)).data)


class WebhookTestView(APIView):
    @operation("test_webhook", DeliveryOut, 403, 404, status=202, request=None)
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Send the event webhook.test, which tells of nothing."""
        webhook = access.webhook_of(request.user, slug, webhook_id)
        return Response(DeliveryOut(webhooks.send_test(webhook, actor=request.user)).data, status=202)


class DeliveriesView(APIView):
    @operation(
        "webhook_deliveries",
        page_of(DeliveryOut),
        400,
        403,
        404,
        parameters=[
            *paging.PARAMETERS,
            OpenApiParameter("state", str, enum=WebhookDelivery.State.values, description="Only these."),
        ],
    )
    def get(self, request: Request, slug: str, webhook_id: int) -> Response:
        """What was sent and what came back, newest first."""
        webhook = access.webhook_of(request.user, slug, webhook_id)
        rows = webhook.deliveries.all()
        if state := DeliveriesIn.parsed(request.query_params.dict()).get("state"):
            rows = rows.filter(state=state)
        return Response(paging.page(request, rows, DeliveryOut, newest_first=True, query=DeliveriesIn))


class ReplayView(APIView):
    @operation("replay_delivery", DeliveryOut, 403, 404, 409, status=202, request=None)
    def post(self, request: Request, slug: str, webhook_id: int, delivery_id: int) -> Response:
        """Send a delivery again, under the same id."""
        delivery = access.delivery_of(request.user, slug, webhook_id, delivery_id)
        return Response(DeliveryOut(webhooks.replay(delivery, actor=request.user)).data, status=202)


class ReplayFailedView(APIView):
    @operation("replay_failed_deliveries", ReplayedOut, 403, 404, status=202, request=None)
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Send all deliveries again that were given up."""
        webhook = access.webhook_of(request.user, slug, webhook_id)
        return Response({"deliveries": webhooks.replay_failed(webhook, actor=request.user)}, status=202)
