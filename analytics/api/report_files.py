"""Reports as files, the report of the review, comparisons of learned models, and how scorers depend on wording."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.report_shapes import (
    ComparisonIn,
    ComparisonOut,
    ComparisonPageOut,
    ComparisonRowOut,
    JobAndFiguresOut,
    ReportJobOut,
)
from analytics.renderings import files
from analytics.reports.document import Document
from analytics.services import (
    learned_comparison_jobs,
    report_jobs,
    review_report_jobs,
    sensitivity_jobs,
)
from annotation import access
from annotation.api import paging
from annotation.api.job_shapes import JobPageIn
from annotation.api.shapes import problems
from annotation.errors import NotFound
from annotation.models import Job, Study, User
from annotation.services import job_lists
from scoring.access import scorer_of

FILES = {(200, type.partition(";")[0]): OpenApiTypes.BINARY for type in files.CONTENT_TYPES.values()}


class ReportFileView(APIView):
    @extend_schema(operation_id="report_file", responses={**FILES, **problems(403, 404)})
    def get(self, request: Request, slug: str, key: str, extension: str) -> HttpResponse:
        """The last report as a file (`report.html`, .json or .zip), a table of it (csv, tex) or a figure (svg)."""
        study = access.managed_study(request.user, slug)
        done = report_jobs.last_made(study)
        document = None if done is None else report_jobs.document_of(done)
        return _file(document, key, extension, stem=f"{study.slug}-report")


class ReviewReportView(APIView):
    @extend_schema(operation_id="review_report", responses={200: JobAndFiguresOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """What the review of a study came to, as last reckoned."""
        done, newest = review_report_jobs.latest(access.managed_study(request.user, slug))
        return Response(_figures(done, newest))

    @extend_schema(
        operation_id="start_review_report", request=None, responses={202: ReportJobOut, **problems(403, 404)}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Reckon it anew, in the background."""
        study = access.managed_study(request.user, slug)
        return _started(review_report_jobs.start(study, actor=request.user))


class SensitivityView(APIView):
    @extend_schema(operation_id="sensitivity", responses={200: JobAndFiguresOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, scorer_id: int) -> Response:
        """How far a scorer's word depends on how it is asked, as last reckoned."""
        study = access.managed_study(request.user, slug)
        done, newest = sensitivity_jobs.latest(study, scorer_of(study, scorer_id))
        return Response(_figures(done, newest))

    @extend_schema(
        operation_id="start_sensitivity", request=None, responses={202: ReportJobOut, **problems(403, 404)}
    )
    def post(self, request: Request, slug: str, scorer_id: int) -> Response:
        """Reckon it anew, in the background."""
        study = access.managed_study(request.user, slug)
        return _started(sensitivity_jobs.start(study, scorer_of(study, scorer_id), actor=request.user))


class ComparisonsView(APIView):
    @extend_schema(
        operation_id="comparisons",
        parameters=[
            OpenApiParameter("after", OpenApiTypes.UUID, description="Go on after this one."),
            paging.PARAMETERS[1],
        ],
        responses={200: ComparisonPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Comparisons of learned models that were made, or are being made, the newest first."""
        study = access.managed_study(request.user, slug)
        wanted = JobPageIn.parsed(request.query_params.dict())
        page = job_lists.page(study, kind=learned_comparison_jobs.KIND, **wanted)
        rows = ComparisonRowOut(page.rows, many=True).data
        return Response({"next": job_lists.path_of(request.path, page, wanted), "results": rows})

    @extend_schema(
        operation_id="start_comparison",
        request=ComparisonIn,
        responses={202: ComparisonRowOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Compare versions on the items that all of them held out, other scorers beside them, in the background."""
        study = access.managed_study(request.user, slug)
        job = learned_comparison_jobs.start(study, actor=request.user, **ComparisonIn.parsed(request.data))
        return Response(ComparisonRowOut(job).data, status=202)


class ComparisonView(APIView):
    @extend_schema(operation_id="comparison", responses={200: ComparisonOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, job_id: uuid.UUID) -> Response:
        """One comparison with all that it found."""
        return Response(ComparisonOut(_comparison(request.user, slug, job_id)[1]).data)


class ComparisonFileView(APIView):
    @extend_schema(operation_id="comparison_file", responses={**FILES, **problems(403, 404)})
    def get(self, request: Request, slug: str, job_id: uuid.UUID, key: str, extension: str) -> HttpResponse:
        """A comparison as a file, one of its tables or figures; named as a report's are."""
        study, job = _comparison(request.user, slug, job_id)
        made = job.state == Job.State.DONE
        document = learned_comparison_jobs.document_of(job) if made else None
        return _file(document, key, extension, stem=f"{study.slug}-comparison")


def _comparison(user: User, slug: str, job_id: uuid.UUID) -> tuple[Study, Job]:
    study = access.managed_study(user, slug)
    return study, learned_comparison_jobs.comparison_of(access.job_of(user, job_id), study)


def _file(document: Document | None, key: str, extension: str, *, stem: str) -> HttpResponse:
    found = None if document is None else files.file_of(document, key, extension, folder=stem)
    if found is None:
        raise NotFound
    response = HttpResponse(found, content_type=files.CONTENT_TYPES[extension])
    name = stem if key == files.WHOLE else f"{stem}-{key}"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response


def _figures(done: Job | None, newest: Job | None) -> dict[str, Any]:
    return {
        "job": None if newest is None else newest.pk,
        "state": None if newest is None else newest.state,
        "computed_at": None if done is None else done.finished_at,
        "figures": None if done is None else done.report,
    }


def _started(job: Job) -> Response:
    return Response({"job": job.pk, "state": job.state}, status=202)
