"""Training sets: trying what one would be, and asking for it."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from analytics.questions import measured_questions
from analytics.services import training_set_jobs, training_set_preview
from analytics.training_sets.contract import Row
from annotation import access
from annotation.errors import InvalidInput
from annotation.models import Job, Study
from labeling_ui.forms.training_sets import USUAL, TrainingSetForm

SETS_SHOWN = 20
_LONGEST = 60


@login_required
def training_sets(request: HttpRequest, slug: str) -> HttpResponse:
    """A form with two buttons: one tries what is asked for, one makes it."""
    study = access.managed_study(request.user, slug)
    form = (
        TrainingSetForm(request.POST) if request.method == "POST" else TrainingSetForm(initial=_usual(study))
    )
    context: dict[str, Any] = {"study": study, "form": form}
    if form.is_valid():
        try:
            if "preview" not in request.POST:
                return redirect("job", training_set_jobs.start(study, form.options, actor=request.user).pk)
            context |= _tried(study, form)
        except InvalidInput as error:
            form.add_error(None, error.message)
    made = study.jobs.filter(kind=training_set_jobs.KIND).exclude(state=Job.State.CANCELLED)
    context["sets"] = made.order_by("-created_at")[:SETS_SHOWN]
    return render(request, "labeling_ui/study/training_sets.html", context)


def _usual(study: Study) -> dict[str, Any]:
    compares = any(question.is_preference for question in measured_questions(study))
    return USUAL if compares else {**USUAL, "format": "mos"}


def _tried(study: Study, form: TrainingSetForm) -> dict[str, Any]:
    found = training_set_preview.preview(study, form.options)
    shown = [(table, [_cells(row, found.columns) for row in table.first]) for table in found.tables]
    return {"tried": found, "shown": shown}


def _cells(row: Row, columns: tuple[str, ...]) -> list[str]:
    return [_cell(row[name]) for name in columns]


def _cell(value: Any) -> str:
    """As JSON has it, but texts without their quotes; cut where it is long."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
