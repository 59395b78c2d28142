"""Stored figures and exports of a study, for those who run it."""

from __future__ import annotations

import uuid

from django.http import HttpResponse, StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.shapes import AgreementOut, ExportIn, ExportOut, ReportIn, ReportJobOut, ReportOut
from analytics.services import export_jobs, figures, report_jobs
from annotation import access
from annotation.api import downloads
from annotation.api.shapes import problems


class AgreementView(APIView):
    @extend_schema(operation_id="agreement", responses={200: AgreementOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """How far raters agree, question by question, as last computed."""
        study = access.managed_study(request.user, slug)
        found = figures.current(study)
        return Response({"computed_at": found.computed_at, "questions": found.agreement})


class ExportsView(APIView):
    @extend_schema(
        operation_id="start_export", request=ExportIn, responses={202: ExportOut, **problems(400, 403, 404)}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start writing judgments, items, checks, corrections and cases to an archive, in the background."""
        study = access.managed_study(request.user, slug)
        job = export_jobs.start(study, actor=request.user, **ExportIn.parsed(request.data))
        body = {"job": job.pk, "state": job.state, "file": reverse("api_export_file", args=[job.pk])}
        return Response(body, status=202)


class ExportFileView(APIView):
    @extend_schema(
        operation_id="export_file",
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            (206, "application/zip"): OpenApiTypes.BINARY,
            302: None,
            416: None,
            **problems(403, 404, 409),
        },
    )
    def get(self, request: Request, job_id: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
        """The archive of a finished export. Supports ranges, so that a download that broke off goes on; where files are
        kept in a bucket, the answer is a redirect to a link that ends after five minutes."""
        job = access.job_of(request.user, job_id)
        return downloads.send(
            request,
            export_jobs.kept(job),
            filename=f"{export_jobs.file_stem(job)}.zip",
            content_type="application/zip",
            sha256=job.report.get("sha256", ""),
            told=downloads.Fetched("export.fetched", job.study, f"job {job.pk}"),
        )


class ReportView(APIView):
    @extend_schema(operation_id="report", responses={200: ReportOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """The last report that was made of the study, as data."""
        done = report_jobs.last_made(access.managed_study(request.user, slug))
        if done is None:
            return Response({"computed_at": None, "settings": None, "document": None})
        return Response({"computed_at": done.finished_at, "settings": done.params, "document": done.report})

    @extend_schema(
        operation_id="start_report",
        request=ReportIn,
        responses={202: ReportJobOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start making a report in the background; one that is under way is not started again."""
        study = access.managed_study(request.user, slug)
        job = report_jobs.start(study, actor=request.user, **ReportIn.parsed(request.data))
        return Response({"job": job.pk, "state": job.state}, status=202)
