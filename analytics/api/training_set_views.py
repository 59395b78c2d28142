"""Training sets: trying what one would be, asking for it, fetching it."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.training_set_shapes import TrainingSetIn, TrainingSetOut, TrainingSetPreviewOut
from analytics.services import training_set_jobs, training_set_preview
from annotation import access
from annotation.api import downloads
from annotation.api.scopes import Scope
from annotation.api.shapes import problems


class TrainingSetsView(APIView):
    @extend_schema(
        operation_id="start_training_set",
        request=TrainingSetIn,
        responses={202: TrainingSetOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start making files to train a model with, in the background. Votes on one prompt or sound are never in two
        splits; the finished files are looked through for it, and the job fails where they leak."""
        study = access.managed_study(request.user, slug)
        job = training_set_jobs.start(study, TrainingSetIn.options(request.data), actor=request.user)
        body = {"job": job.pk, "state": job.state, "file": reverse("api_training_set_file", args=[job.pk])}
        return Response(body, status=202)


class TrainingSetPreviewView(APIView):
    writes = Scope.READ  # it changes nothing: what is asked is too long for an address

    @extend_schema(
        operation_id="preview_training_set",
        request=TrainingSetIn,
        responses={200: TrainingSetPreviewOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """The first rows of a training set and the sizes of its splits; of its first 1,000 tasks where there are
        more."""
        study = access.managed_study(request.user, slug)
        return Response(asdict(training_set_preview.preview(study, TrainingSetIn.options(request.data))))


class TrainingSetFileView(APIView):
    @extend_schema(
        operation_id="training_set_file",
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            (206, "application/zip"): OpenApiTypes.BINARY,
            302: None,
            416: None,
            **problems(403, 404, 409),
        },
    )
    def get(self, request: Request, job_id: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
        """The archive of a finished training set. Supports ranges; where files are kept in a bucket, the answer is a
        redirect to a link that ends after five minutes."""
        job = access.job_of(request.user, job_id)
        return downloads.send(
            request,
            training_set_jobs.kept(job),
            filename=f"{training_set_jobs.file_stem(job)}.zip",
            content_type="application/zip",
            sha256=job.report.get("sha256", ""),
            told=downloads.Fetched("training_set.fetched", job.study, f"job {job.pk}"),
        )
