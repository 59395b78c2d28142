"""Which rules bring cases before experts, what they would find, and how cases are worked: for those who run it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.job_shapes import JobOut
from annotation.api.shapes import In, problems
from annotation.api.tables import TableField
from annotation.errors import InvalidInput
from annotation.models import Study
from annotation.rules.flag_rules import FlagRules
from annotation.rules.review import ReviewSettings
from annotation.services import flagging, review_settings

FLAGS = 'Rules by name, each with what differs: {"codes": {"on": true, "min_raters": 2}}.'


class FlagsIn(In):
    flags = TableField(default=dict, help_text=FLAGS)


class ReviewRulesIn(FlagsIn):
    undo_minutes = serializers.IntegerField(
        required=False, help_text="How long a decision can be taken back."
    )
    claim_minutes = serializers.IntegerField(
        required=False, help_text="How long a case stays with an expert who does nothing."
    )
    same_raters = serializers.BooleanField(
        required=False, help_text="Whether those who judged a version may judge the corrected one."
    )
    pool_votes = serializers.IntegerField(
        required=False, help_text="How many more judgments a return to the pool asks for."
    )


class ReviewRulesOut(serializers.Serializer):
    undo_minutes = serializers.IntegerField()
    claim_minutes = serializers.IntegerField()
    same_raters = serializers.BooleanField()
    pool_votes = serializers.IntegerField()
    flags = serializers.DictField(
        child=serializers.DictField(), help_text="Every rule with all of its settings."
    )


class RuleCountOut(serializers.Serializer):
    rule = serializers.CharField()
    n_items = serializers.IntegerField(help_text="Items that it finds now.")
    n_new = serializers.IntegerField(help_text="Those of them without this reason on a case yet.")
    examples = serializers.ListField(
        child=serializers.CharField(), help_text="Names of a few, new ones first."
    )


class RulesPreviewOut(serializers.Serializer):
    results = RuleCountOut(many=True)


class ReviewRulesView(APIView):
    @extend_schema(operation_id="review_rules", responses={200: ReviewRulesOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """How a study's cases come about and are worked; all settings."""
        return Response(_rules(access.managed_study(request.user, slug)))

    @extend_schema(
        operation_id="change_review_rules",
        request=ReviewRulesIn,
        responses={200: ReviewRulesOut, **problems(400, 403, 404)},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change some of them; what is not named stays. New rules hold for all of the study's votes."""
        study = access.managed_study(request.user, slug)
        changed = review_settings.change(study, actor=request.user, **ReviewRulesIn.parsed(request.data))
        return Response(_rules(changed))


class RulesPreviewView(APIView):
    @extend_schema(
        operation_id="preview_review_rules",
        request=FlagsIn,
        responses={200: RulesPreviewOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """What the rules would find now if they were changed so. Nothing is changed."""
        study = access.managed_study(request.user, slug)
        flags = FlagsIn.parsed(request.data)["flags"]
        if faults := review_settings.faults(study, flags):
            raise InvalidInput("These rules cannot be tried.", problems=faults)
        counts = flagging.preview(study, FlagRules.of(study.rules).changed(flags))
        return Response({"results": RuleCountOut(counts, many=True).data})


class ApplyRulesView(APIView):
    @extend_schema(
        operation_id="apply_review_rules", request=None, responses={202: JobOut, **problems(403, 404)}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Look at the whole study by its rules as they are, in the background."""
        study = access.managed_study(request.user, slug)
        job = flagging.request(study, actor=request.user)
        return Response(JobOut(job).data, status=202, headers={"Location": reverse("api_job", args=[job.pk])})


def _rules(study: Study) -> dict[str, Any]:
    return {**asdict(ReviewSettings.of(study.rules)), "flags": FlagRules.of(study.rules).as_json()}
