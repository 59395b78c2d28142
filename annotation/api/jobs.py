"""Background work: importing, how far a job is, what came of it, stopping it."""

from __future__ import annotations

import uuid

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.job_shapes import ImportIn, JobOut
from annotation.api.shapes import problems
from annotation.services import imports, jobs, uploads


class ImportsView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="import",
        request={"multipart/form-data": ImportIn},
        responses={202: JobOut, **problems(400, 403, 404, 413)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start an import in the background. What it finds, every bad row included, is in the job's report."""
        study = access.managed_study(request.user, slug)
        body = ImportIn.parsed(request.data)
        source = uploads.receive(body.pop("file"), format=body["format"])
        job = imports.start(study, source, actor=request.user, **body)
        return Response(JobOut(job).data, status=202, headers={"Location": reverse("api_job", args=[job.pk])})


class JobView(APIView):
    @extend_schema(operation_id="job", responses={200: JobOut, **problems(403, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """A job of a study that you run."""
        return Response(JobOut(access.job_of(request.user, job_id)).data)


class CancelView(APIView):
    @extend_schema(
        operation_id="cancel_job", request=None, responses={200: JobOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Stop a job that has not finished; it undoes what it did."""
        job = access.job_of(request.user, job_id)
        return Response(JobOut(jobs.cancel(job, actor=request.user)).data)
