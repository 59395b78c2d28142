"""Addresses that hear what happens in a study, for those who run it."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access, content_access
from annotation.api import paging
from annotation.api.shapes import problems
from annotation.api.webhook_shapes import (
    DeliveriesIn,
    DeliveryOut,
    DeliveryPageOut,
    NewWebhookOut,
    ReplayedOut,
    SecretOut,
    WebhookChangeIn,
    WebhookIn,
    WebhookOut,
    WebhookPageOut,
)
from annotation.models import WebhookDelivery
from annotation.services import webhooks


class WebhooksView(APIView):
    answers_secret = True

    @extend_schema(
        operation_id="webhooks",
        parameters=paging.PARAMETERS,
        responses={200: WebhookPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The webhooks of a study. Their secrets cannot be shown again."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.webhooks.all(), WebhookOut))

    @extend_schema(
        operation_id="add_webhook",
        request=WebhookIn,
        responses={201: NewWebhookOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Tell an address what happens from now on. The answer holds the secret that its requests are signed with."""
        study = access.managed_study(request.user, slug)
        webhook, secret = webhooks.add(study, actor=request.user, **WebhookIn.parsed(request.data))
        return Response({**WebhookOut(webhook).data, "secret": secret}, status=201)


class WebhookView(APIView):
    @extend_schema(operation_id="webhook", responses={200: WebhookOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, webhook_id: int) -> Response:
        """One webhook, and whether it gets through."""
        return Response(WebhookOut(content_access.webhook_of(request.user, slug, webhook_id)).data)

    @extend_schema(
        operation_id="change_webhook",
        request=WebhookChangeIn,
        responses={200: WebhookOut, **problems(400, 403, 404)},
    )
    def patch(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Change what it hears and where, or switch it off and on."""
        webhook = content_access.webhook_of(request.user, slug, webhook_id)
        changed = webhooks.change(webhook, actor=request.user, **WebhookChangeIn.parsed(request.data))
        return Response(WebhookOut(changed).data)

    @extend_schema(operation_id="remove_webhook", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Remove it, with the log of what was sent."""
        webhooks.remove(content_access.webhook_of(request.user, slug, webhook_id), actor=request.user)
        return Response(status=204)


class WebhookSecretView(APIView):
    answers_secret = True

    @extend_schema(
        operation_id="change_webhook_secret",
        request=None,
        responses={200: SecretOut, **problems(403, 404)},
    )
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """A new secret. For a day requests are signed with the one before, too."""
        webhook = content_access.webhook_of(request.user, slug, webhook_id)
        return Response({"secret": webhooks.change_secret(webhook, actor=request.user)})


class WebhookResumeView(APIView):
    @extend_schema(
        operation_id="resume_webhook", request=None, responses={200: WebhookOut, **problems(403, 404)}
    )
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Go on after a pause, with what has happened meanwhile."""
        webhook = content_access.webhook_of(request.user, slug, webhook_id)
        return Response(WebhookOut(webhooks.resume(webhook, actor=request.user)).data)


class WebhookTestView(APIView):
    @extend_schema(
        operation_id="test_webhook", request=None, responses={202: DeliveryOut, **problems(403, 404)}
    )
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Send the event webhook.test, which tells of nothing."""
        webhook = content_access.webhook_of(request.user, slug, webhook_id)
        return Response(DeliveryOut(webhooks.send_test(webhook, actor=request.user)).data, status=202)


class DeliveriesView(APIView):
    @extend_schema(
        operation_id="webhook_deliveries",
        parameters=[
            *paging.PARAMETERS,
            OpenApiParameter("state", str, enum=WebhookDelivery.State.values, description="Only these."),
        ],
        responses={200: DeliveryPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str, webhook_id: int) -> Response:
        """What was sent and what came back, newest first."""
        webhook = content_access.webhook_of(request.user, slug, webhook_id)
        rows = webhook.deliveries.all()
        if state := DeliveriesIn.parsed(request.query_params.dict()).get("state"):
            rows = rows.filter(state=state)
        return Response(paging.page(request, rows, DeliveryOut, newest_first=True, asked=DeliveriesIn))


class ReplayView(APIView):
    @extend_schema(
        operation_id="replay_delivery", request=None, responses={202: DeliveryOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, slug: str, webhook_id: int, delivery_id: int) -> Response:
        """Send a delivery again, under the same id."""
        delivery = content_access.delivery_of(request.user, slug, webhook_id, delivery_id)
        return Response(DeliveryOut(webhooks.replay(delivery, actor=request.user)).data, status=202)


class ReplayFailedView(APIView):
    @extend_schema(
        operation_id="replay_failed_deliveries",
        request=None,
        responses={202: ReplayedOut, **problems(403, 404)},
    )
    def post(self, request: Request, slug: str, webhook_id: int) -> Response:
        """Send all deliveries again that were given up."""
        webhook = content_access.webhook_of(request.user, slug, webhook_id)
        return Response({"deliveries": webhooks.replay_failed(webhook, actor=request.user)}, status=202)
