"""Panel links, their places and the payment table over the API, for those who run a study."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import PageIn, page_of
from annotation.api.serializers import In, Out, operation
from annotation.models import PanelLink, Place
from annotation.panels import links, participants, payments, places
from annotation.panels.payments import Payment
from annotation.panels.rules import KINDS, link_to_paste

CODE_HELP = "A code, or the https address that leads back to the panel."


class QuotaField(serializers.Serializer):
    """At most so many participants with this value of a recorded URL parameter or question about themselves."""

    field = serializers.CharField(max_length=200)
    value = serializers.CharField(max_length=200, help_text='"*" for every value without a quota of its own.')
    places = serializers.IntegerField(min_value=0)


class PanelLinkIn(In):
    name = serializers.CharField(max_length=100)
    panel = serializers.ChoiceField(list(KINDS))
    id_parameter = serializers.CharField(
        max_length=60, required=False, help_text="The URL parameter that names the participant."
    )
    recorded_parameters = serializers.ListField(
        child=serializers.CharField(max_length=60), required=False, max_length=20
    )
    signature_parameter = serializers.CharField(
        max_length=60,
        required=False,
        allow_blank=True,
        help_text="The URL parameter with the HMAC-SHA256 of the participant's id, in hexadecimal.",
    )
    completed_code = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text=CODE_HELP
    )
    screened_out_code = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text=CODE_HELP
    )
    failed_quality_code = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text=CODE_HELP
    )
    no_consent_code = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text=CODE_HELP
    )
    batch_size = serializers.IntegerField(
        required=False, allow_null=True, help_text="Null: as long as there are tasks."
    )
    max_batches = serializers.IntegerField(required=False)
    places = serializers.IntegerField(
        required=False, allow_null=True, help_text="Of participants at work or done; null for any number."
    )
    quotas = QuotaField(many=True, required=False, max_length=100)
    stratum_quotas = QuotaField(
        many=True,
        required=False,
        max_length=100,
        help_text="The most tasks of a batch whose items are of a stratum: its field, its value, and how many.",
    )
    idle_minutes = serializers.IntegerField(
        required=False, help_text="Without a sign of life until a place is free again."
    )
    limit_minutes = serializers.IntegerField(required=False, help_text="For a batch; 0 for no limit.")
    may_return = serializers.BooleanField(required=False)
    reward = serializers.DecimalField(max_digits=8, decimal_places=2, required=False, allow_null=True)
    currency = serializers.CharField(max_length=3, required=False, allow_blank=True)
    is_open = serializers.BooleanField(required=False)


class PanelLinkChangeIn(PanelLinkIn):
    """Some of them; what is left out stays."""

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        for field in fields.values():
            field.required, field.default = False, empty
        return fields


class PanelLinkOut(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    panel = serializers.ChoiceField(list(KINDS))
    address = serializers.SerializerMethodField(help_text="To paste into the panel.")
    id_parameter = serializers.CharField()
    recorded_parameters = serializers.ListField(child=serializers.CharField())
    signature_parameter = serializers.CharField()
    completed_code = serializers.CharField()
    screened_out_code = serializers.CharField()
    failed_quality_code = serializers.CharField()
    no_consent_code = serializers.CharField()
    batch_size = serializers.IntegerField(allow_null=True)
    max_batches = serializers.IntegerField()
    places = serializers.IntegerField(allow_null=True)
    quotas = QuotaField(many=True)
    stratum_quotas = QuotaField(many=True)
    idle_minutes = serializers.IntegerField()
    limit_minutes = serializers.IntegerField()
    may_return = serializers.BooleanField()
    reward = serializers.DecimalField(max_digits=8, decimal_places=2, allow_null=True)
    currency = serializers.CharField()
    is_open = serializers.BooleanField()
    created_at = serializers.DateTimeField()

    def get_address(self, link: PanelLink) -> str:
        return link_to_paste(reverse("enter_panel", args=[link.token]), links.rules_of(link))


class PaymentOut(Out):
    shape = Payment
    shown = """
        place participant rater link panel batch state started_at ended_at minutes minutes_at_work answers accepted
        checks checks_failed advice reward bonus currency note parameters
    """
    notes = {
        "participant": "The id that the panel gave them.",
        "minutes": "From the beginning to the end, or to the last sign of life.",
        "minutes_at_work": "Without pauses of more than five minutes.",
        "answers": "To tasks of every kind but training.",
        "accepted": "Those of them that nobody excluded.",
        "checks": "Gold tasks, traps and repeats.",
        "parameters": "What the link recorded.",
    }
    state = serializers.ChoiceField(Place.State.choices)
    advice = serializers.ChoiceField(["pay", "pay_in_part", "ask_to_return", "may_reject", "nothing"])
    reward = serializers.DecimalField(max_digits=8, decimal_places=2, allow_null=True)
    bonus = serializers.DecimalField(max_digits=8, decimal_places=2)
    parameters = serializers.DictField(child=serializers.CharField())

    @classmethod
    def many_init(cls, places: Any = None, **kwargs: Any) -> Any:
        """A page of places becomes rows of the payment table in one go."""
        return super().many_init(None if places is None else payments.of_places(places), **kwargs)


class PaymentsIn(PageIn):
    link = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


# Without digits there is no amount, which the description of a decimal does not say by itself.
@extend_schema_field({"type": "string", "pattern": r"^[0-9]{1,6}(\.[0-9]{1,2})?$"})
class AmountField(serializers.DecimalField):
    pass


class BonusIn(In):
    bonus = AmountField(max_digits=8, decimal_places=2, min_value=0)
    note = serializers.CharField(max_length=300, default="", allow_blank=True)


class PlaceReturnsIn(In):
    participants = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=10_000,
        help_text="Ids of participants who returned, or timed out, in the panel.",
    )


class PlaceReturnsOut(serializers.Serializer):
    freed = serializers.IntegerField(help_text="Places that are free again.")


class PanelLinksView(APIView):
    @operation("panel_links", page_of(PanelLinkOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """The panel links of a study."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.panel_links.all(), PanelLinkOut))

    @operation("create_panel_link", PanelLinkOut, 400, 403, 404, 409, status=201, request=PanelLinkIn)
    def post(self, request: Request, slug: str) -> Response:
        """A new way into a study for the participants of a panel."""
        study = access.managed_study(request.user, slug)
        link = links.create_link(study, actor=request.user, **PanelLinkIn.parsed(request.data))
        return Response(PanelLinkOut(link).data, status=201)


class PanelLinkView(APIView):
    @operation("panel_link", PanelLinkOut, 403, 404)
    def get(self, request: Request, slug: str, link_id: int) -> Response:
        """One panel link."""
        return Response(PanelLinkOut(access.panel_link_of(request.user, slug, link_id)).data)

    @operation("change_panel_link", PanelLinkOut, 400, 403, 404, request=PanelLinkChangeIn)
    def patch(self, request: Request, slug: str, link_id: int) -> Response:
        """Change it, close it or open it again. Whoever has begun can always finish."""
        link = access.panel_link_of(request.user, slug, link_id)
        changed = links.change_link(link, actor=request.user, **PanelLinkChangeIn.parsed(request.data))
        return Response(PanelLinkOut(changed).data)


class PanelReturnsView(APIView):
    @operation("return_places", PlaceReturnsOut, 400, 403, 404, request=PlaceReturnsIn)
    def post(self, request: Request, slug: str, link_id: int) -> Response:
        """Free the places of participants who returned in the panel, at once."""
        link = access.panel_link_of(request.user, slug, link_id)
        ids = PlaceReturnsIn.parsed(request.data)["participants"]
        return Response({"freed": places.return_places(link, ids, actor=request.user)})


class TestLinkOut(serializers.Serializer):
    address = serializers.CharField(
        help_text="Of a test participant: nothing that they answer counts. For a week."
    )


class PanelTestLinkView(APIView):
    answers_secret = True

    @operation("create_test_link", TestLinkOut, 403, 404, request=None)
    def post(self, request: Request, slug: str, link_id: int) -> Response:
        """An address by which you walk the way of participants, from the link to the code."""
        link = access.panel_link_of(request.user, slug, link_id)
        return Response({"address": participants.walk_address(link)})


class PaymentsView(APIView):
    @operation(
        "payments",
        page_of(PaymentOut),
        400,
        403,
        404,
        parameters=[*paging.PARAMETERS, OpenApiParameter("link", int, description="Only this panel link's.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        """What each participant did in each batch, and what is advised to pay."""
        study = access.managed_study(request.user, slug)
        rows = payments.places_of(study)
        if link := PaymentsIn.parsed(request.query_params.dict()).get("link"):
            rows = rows.filter(link_id=link)
        return Response(paging.page(request, rows, PaymentOut, query=PaymentsIn))


class BonusView(APIView):
    @operation("set_bonus", PaymentOut, 400, 403, 404, request=BonusIn)
    def post(self, request: Request, slug: str, place_id: int) -> Response:
        """What a participant gets beside the reward, as a line of the payment table: the panel pays it."""
        place = access.place_of(request.user, slug, place_id)
        payments.set_bonus(place, actor=request.user, **BonusIn.parsed(request.data))
        return Response(PaymentOut(payments.of_places([place])[0]).data)
