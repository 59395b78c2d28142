"""Background work as it goes on: an import, an export."""

from __future__ import annotations

import csv
import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation import access
from annotation.errors import Conflict
from annotation.formulas import defused
from annotation.services import jobs
from labeling_ui.sentences import said

PROBLEMS_SHOWN = 100
PROBLEM_COLUMNS = ("row", "field", "problem", "remedy")


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def job(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The page; only the part that moves when that part asks for itself."""
    job = access.job_of(request.user, job_id)
    problems = job.report.get("problems", [])
    context = {
        "job": job,
        "study": job.study,
        "problems": problems[:PROBLEMS_SHOWN],
        "n_listed": len(problems),
        "n_problems": job.report.get("n_problems", 0),
    }
    live = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/study/{'job_live' if live else 'job'}.html", context)


@login_required
@require_POST
def cancel_job(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    try:
        jobs.cancel(access.job_of(request.user, job_id), actor=request.user)
    except Conflict as error:
        messages.error(request, said(error))
    return redirect("job", job_id)


@login_required
@require_safe
def job_problems(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """The rows that an import found fault with, as CSV."""
    job = access.job_of(request.user, job_id)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="problems-{job.pk}.csv"'
    writer = csv.writer(response)
    writer.writerow(PROBLEM_COLUMNS)
    for problem in job.report.get("problems", []):
        writer.writerow(defused(str(problem.get(name, ""))) for name in PROBLEM_COLUMNS)
    return response
