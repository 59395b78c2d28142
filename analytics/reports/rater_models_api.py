"""Labels by models of raters over the API: of each unit the posterior label beside the unweighted figure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from analytics.data.questions import measured_questions
from analytics.data.votes import load_votes
from analytics.reports.rater_models import fit_question, label_rows
from annotation import access
from annotation.api.serializers import problem_responses
from annotation.csv_escaping import escape_formula
from annotation.models import Study

COLUMNS = (
    "question", "item", "task", "systems", "model", "label", "probability", "standard_error", "unweighted", "posterior",
)  # fmt: skip


class RaterLabelsView(APIView):
    @extend_schema(
        operation_id="rater_model_labels",
        parameters=[OpenApiParameter("question", str, description="A question's key; all without.")],
        responses={(200, "text/csv"): OpenApiTypes.STR, **problem_responses(403, 404)},
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """CSV: of each unit the label that a model of its raters finds most probable, beside what the votes say where
        every rater counts alike. `systems` and `posterior` are JSON. Questions without a model have no rows."""
        study = access.managed_study(request.user, slug)
        lines = _lines(study, request.query_params.get("question", ""))
        response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-labels.csv"'
        return response


def _lines(study: Study, key: str) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\r\n"
    for question in measured_questions(study):
        if key and key not in (question.key, question.question_key):
            continue
        model = fit_question(load_votes(question))
        for row in label_rows(study, model) if model is not None else ():
            line = io.StringIO()
            csv.writer(line).writerow([_cell(row.get(name, "")) for name in COLUMNS])
            yield line.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value) if isinstance(value, float) else escape_formula(str(value))
