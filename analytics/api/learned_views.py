"""Models that learn from a study's votes: for those who run the study."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.learned_shapes import (
    LearnedModelInFullOut,
    LearnedModelOut,
    LearnedModelPageOut,
    TrainableOut,
    TrainablesOut,
    TrainingIn,
)
from analytics.services import training_jobs
from annotation import access
from annotation.api import paging
from annotation.api.shapes import problems
from annotation.services import jobs
from scoring.access import learned_model_of
from scoring.services import learned
from scoring.training.catalogue import TRAINABLE


class TrainableModelsView(APIView):
    @extend_schema(operation_id="trainable_models", responses={200: TrainablesOut, **problems(403)})
    def get(self, request: Request) -> Response:
        """The kinds of models that can be trained, and their settings."""
        return Response({"results": TrainableOut([*TRAINABLE.values()], many=True).data})


class LearnedModelsView(APIView):
    @extend_schema(
        operation_id="learned_models",
        parameters=paging.PARAMETERS,
        responses={200: LearnedModelPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The models that learned, or learn, from a study's votes, newest first."""
        study = access.managed_study(request.user, slug)
        found = learned.numbered(study).select_related("study", "created_by", "job", "scorer")
        return Response(paging.page(request, found, LearnedModelOut, newest_first=True))

    @extend_schema(
        operation_id="start_training",
        request=TrainingIn,
        responses={202: LearnedModelInFullOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Train the next version of a model in the background."""
        study = access.managed_study(request.user, slug)
        body = TrainingIn.parsed(request.data)
        model = training_jobs.start(study, body.pop("model"), body.pop("options"), actor=request.user, **body)
        return Response(LearnedModelInFullOut(model).data, status=202)


class LearnedModelView(APIView):
    @extend_schema(operation_id="learned_model", responses={200: LearnedModelInFullOut, **problems(403, 404)})
    def get(self, request: Request, model_id: int) -> Response:
        """A version, how its training goes, and its training record."""
        return Response(LearnedModelInFullOut(learned_model_of(request.user, model_id)).data)


class CancelTrainingView(APIView):
    @extend_schema(
        operation_id="cancel_training",
        request=None,
        responses={200: LearnedModelInFullOut, **problems(403, 404, 409)},
    )
    def post(self, request: Request, model_id: int) -> Response:
        """Stop a training that has not ended. Nothing of it is kept."""
        model = learned_model_of(request.user, model_id)
        model.job = jobs.cancel(model.job, actor=request.user)
        return Response(LearnedModelInFullOut(model).data)


class PromoteModelView(APIView):
    @extend_schema(
        operation_id="promote_model",
        request=None,
        responses={200: LearnedModelInFullOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, model_id: int) -> Response:
        """Make a version the study's scorer of its kind: everything is scored with it in the background."""
        learned.promote(learned_model_of(request.user, model_id), actor=request.user)
        return Response(LearnedModelInFullOut(learned_model_of(request.user, model_id)).data)


class DemoteModelView(APIView):
    @extend_schema(
        operation_id="demote_model",
        request=None,
        responses={200: LearnedModelInFullOut, **problems(403, 404)},
    )
    def post(self, request: Request, model_id: int) -> Response:
        """Let a version be the study's scorer no longer. Its scores stay."""
        learned.demote(learned_model_of(request.user, model_id), actor=request.user)
        return Response(LearnedModelInFullOut(learned_model_of(request.user, model_id)).data)
