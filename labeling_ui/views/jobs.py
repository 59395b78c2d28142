"""Background work as it goes on: an import, an export."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Iterator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation import access
from annotation.errors import Conflict
from annotation.formulas import defused
from annotation.models import Job
from annotation.services import arrivals, jobs
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
        "n_listed": job.problems.count() or len(problems),
        "n_problems": job.report.get("n_problems", 0),
    }
    if job.is_finished and not (job.state == Job.State.DONE and not job.report.get("dry_run")):
        context["upload"] = arrivals.brought_for(job, by=request.user)
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
def job_problems(request: HttpRequest, job_id: uuid.UUID) -> StreamingHttpResponse:
    """The rows that an import found fault with, as CSV."""
    job = access.job_of(request.user, job_id)
    response = StreamingHttpResponse(_csv(job), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="problems-{job.pk}.csv"'
    return response


def _csv(job: Job) -> Iterator[str]:
    """There may be as many as the source has rows. Jobs of earlier versions have them in their report alone."""
    writer = csv.writer(_Echo())
    yield writer.writerow(PROBLEM_COLUMNS)
    kept = job.problems.order_by("number").values(*PROBLEM_COLUMNS)
    found = kept.iterator(chunk_size=2000) if job.problems.exists() else job.report.get("problems", [])
    for problem in found:
        yield writer.writerow(defused(str(problem.get(name, ""))) for name in PROBLEM_COLUMNS)


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text
