"""Background work: importing, how far a job is, what came of it, stopping it."""

from __future__ import annotations

import uuid

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.job_shapes import (
    ImportIn,
    JobOut,
    JobPageOut,
    JobProblemOut,
    JobProblemPageOut,
    JobRowOut,
    JobsIn,
)
from annotation.api.shapes import problems
from annotation.models import Job
from annotation.services import import_repeats, imports, job_lists, jobs, uploads


class ImportsView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="import",
        request={"multipart/form-data": ImportIn},
        responses={202: JobOut, **problems(400, 403, 404, 409, 413)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start an import in the background. What it finds, every bad row included, is in the job's report."""
        study = access.managed_study(request.user, slug)
        body = ImportIn.parsed(request.data)
        source = uploads.receive(body.pop("file"), format=body["format"])
        job = imports.start(study, source, actor=request.user, **body)
        return Response(JobOut(job).data, status=202, headers={"Location": reverse("api_job", args=[job.pk])})


class JobsView(APIView):
    @extend_schema(
        operation_id="jobs",
        parameters=[
            OpenApiParameter("after", OpenApiTypes.UUID, description="Go on after this job."),
            paging.PARAMETERS[1],
            OpenApiParameter("kind", str, description="For example import or export."),
            OpenApiParameter("state", str, enum=Job.State.values),
        ],
        responses={200: JobPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """A study's background work, the newest first. What a job found is at …/jobs/{id}/."""
        study = access.managed_study(request.user, slug)
        wanted = JobsIn.parsed(request.query_params.dict())
        page = job_lists.page(study, **wanted)
        rows = JobRowOut(page.rows, many=True).data
        return Response({"next": job_lists.path_of(request.path, page, wanted), "results": rows})


class ImportForRealView(APIView):
    @extend_schema(
        operation_id="import_for_real", request=None, responses={202: JobOut, **problems(400, 403, 404, 409)}
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Do what a trial import has tried, with the same file and options, while the file is kept."""
        job = import_repeats.for_real(access.job_of(request.user, job_id), actor=request.user)
        return Response(JobOut(job).data, status=202, headers={"Location": reverse("api_job", args=[job.pk])})


class JobView(APIView):
    @extend_schema(operation_id="job", responses={200: JobOut, **problems(403, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """A job of a study that you run."""
        return Response(JobOut(access.job_of(request.user, job_id)).data)


class JobProblemsView(APIView):
    @extend_schema(
        operation_id="job_problems",
        parameters=paging.PARAMETERS,
        responses={200: JobProblemPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Every fault that an import found in its source, in the order found; its report shows the first thousand."""
        found = access.job_of(request.user, job_id).problems.all()
        return Response(paging.page(request, found, JobProblemOut))


class CancelView(APIView):
    @extend_schema(
        operation_id="cancel_job", request=None, responses={200: JobOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Stop a job that has not finished; it undoes what it did."""
        job = access.job_of(request.user, job_id)
        return Response(JobOut(jobs.cancel(job, actor=request.user)).data)
