"""Reports as files, the report of the review, comparisons of learned models, and how scorers depend on wording."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.reports import learned_comparison, review_report, sensitivity, study_report
from analytics.reports.document import document_from_json
from analytics.reports.render import files
from analytics.reports.study_report import INTERVALS, MOST_REPLICATES, MOST_SEED
from analytics.statistics.bootstrap import REPLICATES
from annotation import access
from annotation.api import paging
from annotation.api.paging import page_of
from annotation.api.serializers import In, operation, problem_responses
from annotation.errors import NotFound
from annotation.jobs import jobs
from annotation.jobs.api import JobPageIn, JobRowOut
from annotation.models import Job, Study, User
from scoring.access import scorer_of

_MOST = 50


def _numbers(**kwargs: object) -> serializers.ListField:
    child = serializers.IntegerField(min_value=0, max_value=2**63 - 1)
    return serializers.ListField(child=child, max_length=_MOST, **kwargs)


class JobAndFiguresOut(serializers.Serializer):
    """`job` is the newest, under way or not; `figures` are of the last that was finished."""

    job = serializers.UUIDField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    computed_at = serializers.DateTimeField(allow_null=True)
    figures = serializers.DictField(allow_null=True)


class ComparisonIn(In):
    versions = _numbers(min_length=1, help_text="Ids of learned models.")
    scorers = _numbers(default=list, help_text="Ids of scorer versions of this study, beside them.")
    language = serializers.ChoiceField([code for code, _name in settings.LANGUAGES], default="en")


class ComparisonRowOut(JobRowOut):
    versions = serializers.ListField(source="params.versions", child=serializers.IntegerField())
    scorers = serializers.ListField(source="params.scorers", child=serializers.IntegerField())


class ComparisonOut(ComparisonRowOut):
    document = serializers.DictField(source="report", help_text="Empty until it is made.")


class ReportIn(In):
    interval = serializers.ChoiceField(
        list(INTERVALS), default="jackknife", help_text="Of Krippendorff's alpha."
    )
    replicates = serializers.IntegerField(
        min_value=1, max_value=MOST_REPLICATES, default=REPLICATES, help_text="Of every bootstrap."
    )
    seed = serializers.IntegerField(min_value=0, max_value=MOST_SEED, default=0)
    language = serializers.ChoiceField([code for code, _name in settings.LANGUAGES], default="en")


class ReportJobOut(serializers.Serializer):
    job = serializers.UUIDField()
    state = serializers.ChoiceField(Job.State.choices)


class ReportSectionOut(serializers.Serializer):
    key = serializers.CharField()
    title = serializers.CharField()
    blocks = serializers.ListField(
        child=serializers.DictField(), help_text="Each has a `kind`: table, figure or paragraph."
    )


class DocumentOut(serializers.Serializer):
    title = serializers.CharField()
    language = serializers.CharField()
    facts = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    sections = ReportSectionOut(many=True)


class ReportOut(serializers.Serializer):
    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null before the first report.")
    settings = ReportIn(allow_null=True)
    document = DocumentOut(allow_null=True)


FILES = {(200, type.partition(";")[0]): OpenApiTypes.BINARY for type in files.CONTENT_TYPES.values()}


class ReportFileView(APIView):
    @extend_schema(operation_id="report_file", responses={**FILES, **problem_responses(403, 404)})
    def get(self, request: Request, slug: str, key: str, extension: str) -> HttpResponse:
        """The last report as a file (`report.html`, .json or .zip), a table of it (csv, tex) or a figure (svg)."""
        study = access.managed_study(request.user, slug)
        done = study_report.last_finished_report(study)
        return _file(done, key, extension, stem=f"{study.slug}-report")


class ReviewReportView(APIView):
    @operation("review_report", JobAndFiguresOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """What the review of a study came to, as last reckoned."""
        done, newest = review_report.latest_review_report(access.managed_study(request.user, slug))
        return Response(_figures(done, newest))

    @operation("start_review_report", ReportJobOut, 403, 404, status=202, request=None)
    def post(self, request: Request, slug: str) -> Response:
        """Reckon it anew, in the background."""
        study = access.managed_study(request.user, slug)
        return _started(review_report.start_review_report(study, actor=request.user))


class SensitivityView(APIView):
    @operation("sensitivity", JobAndFiguresOut, 403, 404)
    def get(self, request: Request, slug: str, scorer_id: int) -> Response:
        """How far a scorer's word depends on how it is asked, as last reckoned."""
        study = access.managed_study(request.user, slug)
        done, newest = sensitivity.latest_sensitivity(study, scorer_of(study, scorer_id))
        return Response(_figures(done, newest))

    @operation("start_sensitivity", ReportJobOut, 403, 404, status=202, request=None)
    def post(self, request: Request, slug: str, scorer_id: int) -> Response:
        """Reckon it anew, in the background."""
        study = access.managed_study(request.user, slug)
        return _started(sensitivity.start_sensitivity(study, scorer_of(study, scorer_id), actor=request.user))


class ComparisonsView(APIView):
    @operation(
        "comparisons",
        page_of(ComparisonRowOut, "ComparisonPageOut"),
        400,
        403,
        404,
        parameters=[
            OpenApiParameter("after", OpenApiTypes.UUID, description="Go on after this one."),
            paging.PARAMETERS[1],
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """Comparisons of learned models that were made, or are being made, the newest first."""
        study = access.managed_study(request.user, slug)
        query = JobPageIn.parsed(request.query_params.dict())
        page = jobs.list_jobs(study, kind=learned_comparison.COMPARISON_JOB, **query)
        rows = ComparisonRowOut(page.rows, many=True).data
        return Response({"next": jobs.next_page_path(request.path, page, query), "results": rows})

    @operation("start_comparison", ComparisonRowOut, 400, 403, 404, status=202, request=ComparisonIn)
    def post(self, request: Request, slug: str) -> Response:
        """Compare versions on the items that all of them held out, other scorers beside them, in the background."""
        study = access.managed_study(request.user, slug)
        job = learned_comparison.start_comparison(
            study, actor=request.user, **ComparisonIn.parsed(request.data)
        )
        return Response(ComparisonRowOut(job).data, status=202)


class ComparisonView(APIView):
    @operation("comparison", ComparisonOut, 403, 404)
    def get(self, request: Request, slug: str, job_id: uuid.UUID) -> Response:
        """One comparison with all that it found."""
        return Response(ComparisonOut(_comparison(request.user, slug, job_id)[1]).data)


class ComparisonFileView(APIView):
    @extend_schema(operation_id="comparison_file", responses={**FILES, **problem_responses(403, 404)})
    def get(self, request: Request, slug: str, job_id: uuid.UUID, key: str, extension: str) -> HttpResponse:
        """A comparison as a file, one of its tables or figures; named as a report's are."""
        study, job = _comparison(request.user, slug, job_id)
        done = job if job.state == Job.State.DONE else None
        return _file(done, key, extension, stem=f"{study.slug}-comparison")


def _comparison(user: User, slug: str, job_id: uuid.UUID) -> tuple[Study, Job]:
    study = access.managed_study(user, slug)
    return study, learned_comparison.comparison_of(access.job_of(user, job_id), study)


def _file(done: Job | None, key: str, extension: str, *, stem: str) -> HttpResponse:
    """Of the document that a finished job stored."""
    document = None if done is None else document_from_json(done.report)
    content = None if document is None else files.document_file(document, key, extension, folder=stem)
    if content is None:
        raise NotFound
    response = HttpResponse(content, content_type=files.CONTENT_TYPES[extension])
    name = stem if key == files.WHOLE_REPORT else f"{stem}-{key}"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response


def _figures(done: Job | None, newest: Job | None) -> dict[str, Any]:
    return {
        "job": newest and newest.pk,
        "state": newest and newest.state,
        "computed_at": done and done.finished_at,
        "figures": done and done.report,
    }


def _started(job: Job) -> Response:
    return Response({"job": job.pk, "state": job.state}, status=202)


class ReportView(APIView):
    @operation("report", ReportOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The last report that was made of the study, as data."""
        done = study_report.last_finished_report(access.managed_study(request.user, slug))
        if done is None:
            return Response({"computed_at": None, "settings": None, "document": None})
        return Response({"computed_at": done.finished_at, "settings": done.params, "document": done.report})

    @operation("start_report", ReportJobOut, 400, 403, 404, status=202, request=ReportIn)
    def post(self, request: Request, slug: str) -> Response:
        """Start making a report in the background; one that is under way is not started again."""
        study = access.managed_study(request.user, slug)
        return _started(study_report.start_report(study, actor=request.user, **ReportIn.parsed(request.data)))
