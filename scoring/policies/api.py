"""API of a study's model settings: hints, prescoring, prompts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.authentication import Scope
from annotation.api.serializers import In, Out, TableField, operation
from annotation.models import Study
from annotation.rating.rules import hints as rules
from annotation.review import blind_judgments
from scoring.policies import hints, prescoring, study_prompts
from scoring.policies.second_opinions import (
    CaseOpinions,
    Opinion,
    OpinionRun,
    case_opinions,
    judge_name,
    request_opinion,
)

# ── request and response shapes: hints, prescoring, prompts ──


class HintsIn(In):
    scorer = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=80,
        help_text="A scorer's name or the digest of a version; empty shows raters nothing.",
    )
    withheld = serializers.FloatField(
        required=False, help_text="Share of assignments that it is kept from, drawn by rater and task."
    )


class HintsOut(serializers.Serializer):
    scorer = serializers.CharField()
    withheld = serializers.FloatField()
    offered = serializers.ListField(
        child=serializers.CharField(),
        help_text="Versions, as name@digest, that say something of what the study asks; the newest first.",
    )


class OpinionOut(Out):
    """How a judge rates one answer of the case, and why."""

    shape, shown = Opinion, "judge system rating low high reasons created_at"
    notes = {"rating": "On the judge's scale, from low to high.", "reasons": "Empty where it writes none."}
    judge = serializers.CharField(source="scorer", help_text="Name and the beginning of its digest.")
    reasons = serializers.ListField(child=serializers.CharField())


class OpinionRunOut(Out):
    shape, shown = OpinionRun, "metric is_awaited problem"


class OpinionsOut(serializers.Serializer):
    results = OpinionOut(many=True, source="opinions")
    runs = OpinionRunOut(many=True, help_text="Of judges that have brought no opinion, or not yet.")
    judges = serializers.SerializerMethodField(help_text="That can be asked, as name@digest.")

    def get_judges(self, of: CaseOpinions) -> list[str]:
        return [judge_name(run) for run in of.judges]


class OpinionIn(In):
    judge = serializers.CharField(max_length=130, help_text="One of `judges`, as name@digest.")


class PrescoreIn(In):
    scorer = serializers.CharField(max_length=60, help_text="A name from …/scorers/.")
    options = TableField(default=dict, help_text="That scorer's settings.")


class PrescoreRowOut(serializers.Serializer):
    number = serializers.IntegerField(help_text="Its place in the list.")
    scorer = serializers.CharField()
    options = serializers.DictField()


class PrescoreOut(serializers.Serializer):
    results = PrescoreRowOut(many=True)


class PrescoreRemovalIn(In):
    scorer = serializers.CharField(
        max_length=60, help_text="Whose place it is: it may be another's by now, and stays then."
    )


class PromptsIn(In):
    definition = TableField(
        help_text='A prompt file as an object: {"source": …, "system": …, "questions": {set: {name: text}}}.'
    )


class PromptsOut(serializers.Serializer):
    """The prompts of one family of scorers."""

    family = serializers.CharField()
    own = serializers.BooleanField(help_text="Whether they are the study's, or those that come along.")
    definition = serializers.DictField(allow_null=True, help_text="Null where none come along.")


class PromptFamiliesOut(serializers.Serializer):
    results = PromptsOut(many=True)


class HintsView(APIView):
    @operation("hints", HintsOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """Whether raters see what a model says, and of which models they could."""
        return Response(_hints_body(access.managed_study(request.user, slug)))

    @operation("change_hints", HintsOut, 400, 403, 404, request=HintsIn)
    def patch(self, request: Request, slug: str) -> Response:
        """Show raters what a scorer says, or nothing. What they have at hand stays as they first saw it."""
        study = access.managed_study(request.user, slug)
        settings = {**rules.as_json(study.rules), **HintsIn.parsed(request.data)}
        changed = hints.set_rule(
            study, actor=request.user, scorer=settings["scorer"], withheld=settings["withheld"]
        )
        return Response(_hints_body(changed))


class PrescoreView(APIView):
    @operation("prescore", PrescoreOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The scorers that new items get by themselves."""
        return Response(_prescore_body(access.managed_study(request.user, slug)))

    @operation("add_prescore", PrescoreOut, 400, 403, 404, request=PrescoreIn)
    def post(self, request: Request, slug: str) -> Response:
        """Let new items get one more scorer; the same one a second time changes nothing."""
        study = access.managed_study(request.user, slug)
        body = PrescoreIn.parsed(request.data)
        changed = prescoring.add_prescore(study, body["scorer"], body["options"], actor=request.user)
        return Response(_prescore_body(changed))


class PrescoreRowView(APIView):
    @operation("remove_prescore", PrescoreOut, 400, 403, 404, 409, request=PrescoreRemovalIn)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Let new items go without a scorer that they would get."""
        study = access.managed_study(request.user, slug)
        scorer = PrescoreRemovalIn.parsed(request.data)["scorer"]
        return Response(_prescore_body(prescoring.remove_prescore(study, number, scorer, actor=request.user)))


class PromptFamiliesView(APIView):
    @operation("prompts", PromptFamiliesOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """Every family of scorers that speaks to models, with the prompts that its runs use from now on."""
        study = access.managed_study(request.user, slug)
        return Response(
            {"results": [_prompts_body(study, family) for family in study_prompts.prompt_families()]}
        )


class PromptsView(APIView):
    @operation("prompts_of_family", PromptsOut, 403, 404)
    def get(self, request: Request, slug: str, family: str) -> Response:
        """The prompts of one family, as they can be changed and given back."""
        study = _study_with_family(request, slug, family)
        return Response(_prompts_body(study, family))

    @operation("set_prompts", PromptsOut, 400, 403, 404, request=PromptsIn)
    def put(self, request: Request, slug: str, family: str) -> Response:
        """Use the study's own prompts from now on."""
        study = _study_with_family(request, slug, family)
        definition = PromptsIn.parsed(request.data)["definition"]
        changed = study_prompts.set_prompts(study, family, definition, actor=request.user)
        return Response(_prompts_body(changed, family))

    @operation("remove_prompts", PromptsOut, 403, 404)
    def delete(self, request: Request, slug: str, family: str) -> Response:
        """Use the prompts that come with the scorer from now on."""
        study = _study_with_family(request, slug, family)
        changed = study_prompts.set_prompts(study, family, None, actor=request.user)
        return Response(_prompts_body(changed, family))


def _study_with_family(request: Request, slug: str, family: str) -> Study:
    study = access.managed_study(request.user, slug)
    study_prompts.check_family(family)
    return study


def _hints_body(study: Study) -> dict[str, Any]:
    return {
        **rules.as_json(study.rules),
        "offered": [str(scorer) for scorer in hints.eligible_scorers(study)],
    }


def _prescore_body(study: Study) -> dict[str, Any]:
    entries = study.rules.get("prescore", [])
    rows = [
        {"number": number, "scorer": one["metric"], "options": one["options"]}
        for number, one in enumerate(entries)
    ]
    return {"results": rows}


def _prompts_body(study: Study, family: str) -> dict[str, Any]:
    prompts = study_prompts.prompts_in_use(study, family)
    return {
        "family": family,
        "own": study_prompts.own_prompts(study, family) is not None,
        "definition": None if prompts is None else asdict(prompts),
    }


class OpinionsView(APIView):
    writes = Scope.REVIEW

    @operation("case_opinions", OpinionsOut, 403, 404)
    def get(self, request: Request, case_id: int) -> Response:
        """How judges rate the answers of a case that you have judged, and which of them can be asked."""
        return Response(OpinionsOut(case_opinions(blind_judgments.judged_case(request.user, case_id))).data)

    @operation("ask_for_opinion", OpinionsOut, 400, 403, 404, 409, status=202, request=OpinionIn)
    def post(self, request: Request, case_id: int) -> Response:
        """Ask a judge of the study for its opinion; it comes in the background."""
        case = blind_judgments.judged_case(request.user, case_id)
        request_opinion(request.user, case.pk, OpinionIn.parsed(request.data)["judge"])
        return Response(OpinionsOut(case_opinions(case)).data, status=202)
