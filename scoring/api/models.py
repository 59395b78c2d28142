"""What a study says about models: whether raters see what one says, what scores new items, its own prompts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.shapes import problems
from annotation.models import Study
from annotation.rules import hints as rules
from scoring.api.model_shapes import (
    HintsIn,
    HintsOut,
    PrescoreIn,
    PrescoreOut,
    PrescoreRemovalIn,
    PromptFamiliesOut,
    PromptsIn,
    PromptsOut,
)
from scoring.services import hints, study_models, study_prompts


class HintsView(APIView):
    @extend_schema(operation_id="hints", responses={200: HintsOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """Whether raters see what a model says, and of which models they could."""
        return Response(_hints(access.managed_study(request.user, slug)))

    @extend_schema(
        operation_id="change_hints",
        request=HintsIn,
        responses={200: HintsOut, **problems(400, 403, 404)},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Show raters what a scorer says, or nothing. What they have at hand stays as they first saw it."""
        study = access.managed_study(request.user, slug)
        wanted = {**rules.as_json(study.rules), **HintsIn.parsed(request.data)}
        changed = hints.set_rule(
            study, actor=request.user, scorer=wanted["scorer"], withheld=wanted["withheld"]
        )
        return Response(_hints(changed))


class PrescoreView(APIView):
    @extend_schema(operation_id="prescore", responses={200: PrescoreOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """The scorers that new items get by themselves."""
        return Response(_prescore(access.managed_study(request.user, slug)))

    @extend_schema(
        operation_id="add_prescore",
        request=PrescoreIn,
        responses={200: PrescoreOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let new items get one more scorer; the same one a second time changes nothing."""
        study = access.managed_study(request.user, slug)
        body = PrescoreIn.parsed(request.data)
        changed = study_models.add_prescore(study, body["scorer"], body["options"], actor=request.user)
        return Response(_prescore(changed))


class PrescoreRowView(APIView):
    @extend_schema(
        operation_id="remove_prescore",
        request=PrescoreRemovalIn,
        responses={200: PrescoreOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Let new items go without a scorer that they would get."""
        study = access.managed_study(request.user, slug)
        scorer = PrescoreRemovalIn.parsed(request.data)["scorer"]
        return Response(_prescore(study_models.remove_prescore(study, number, scorer, actor=request.user)))


class PromptFamiliesView(APIView):
    @extend_schema(operation_id="prompts", responses={200: PromptFamiliesOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """Every family of scorers that speaks to models, with the prompts that its runs use from now on."""
        study = access.managed_study(request.user, slug)
        return Response({"results": [_prompts(study, family) for family in study_prompts.families()]})


class PromptsView(APIView):
    @extend_schema(operation_id="prompts_of_family", responses={200: PromptsOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, family: str) -> Response:
        """The prompts of one family, as they can be changed and given back."""
        study = access.managed_study(request.user, slug)
        study_prompts.check_family(family)
        return Response(_prompts(study, family))

    @extend_schema(
        operation_id="set_prompts",
        request=PromptsIn,
        responses={200: PromptsOut, **problems(400, 403, 404)},
    )
    def put(self, request: Request, slug: str, family: str) -> Response:
        """Use the study's own prompts from now on."""
        study = access.managed_study(request.user, slug)
        study_prompts.check_family(family)
        definition = PromptsIn.parsed(request.data)["definition"]
        changed = study_models.set_prompts(study, family, definition, actor=request.user)
        return Response(_prompts(changed, family))

    @extend_schema(operation_id="remove_prompts", responses={200: PromptsOut, **problems(403, 404)})
    def delete(self, request: Request, slug: str, family: str) -> Response:
        """Use the prompts that come with the scorer from now on."""
        study = access.managed_study(request.user, slug)
        study_prompts.check_family(family)
        return Response(_prompts(study_models.set_prompts(study, family, None, actor=request.user), family))


def _hints(study: Study) -> dict[str, Any]:
    return {**rules.as_json(study.rules), "offered": [str(scorer) for scorer in hints.voices(study)]}


def _prescore(study: Study) -> dict[str, Any]:
    there = study.rules.get("prescore", [])
    rows = [
        {"number": number, "scorer": one["metric"], "options": one["options"]}
        for number, one in enumerate(there)
    ]
    return {"results": rows}


def _prompts(study: Study, family: str) -> dict[str, Any]:
    prompts = study_prompts.in_use(study, family)
    return {
        "family": family,
        "own": study_prompts.own(study, family) is not None,
        "definition": None if prompts is None else asdict(prompts),
    }
