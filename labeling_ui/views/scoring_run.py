"""One scoring run as it goes on: how far it is, what failed and why, what its scores look like."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.reports import scoring_run as report
from annotation.errors import DomainError
from labeling_ui.fault_words import FAULTS, fault_lines
from labeling_ui.run_lines import filter_of, identity_of, run_line, settings_of
from labeling_ui.score_histogram import Histogram, histograms
from labeling_ui.sentences import said
from scoring import access
from scoring.models import ScoringRun
from scoring.services import faults, runs


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def scoring_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """The page; only the part that moves when that part asks for itself."""
    run = access.run_of(request.user, run_id)
    context = {
        "study": run.study,
        "run": run,
        "line": run_line(run),
        "faults": fault_lines(faults.counted(run)) if run.n_failed else [],
        "histograms": _histograms(run) if run.is_finished and run.n_done else [],
        "settings": settings_of(run),
        "filter": filter_of(run),
        "identity": identity_of(run.scorer) if run.scorer else [],
        "rows_drawn": report.ROWS_DRAWN,
    }
    live = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/models/{'run_live' if live else 'run'}.html", context)


@login_required
@vary_on_headers("HX-Request")
@require_safe
def failed_rows(request: HttpRequest, run_id: int) -> HttpResponse:
    """Rows of a run without a score, a page at a time; a page of its own where there are no scripts."""
    run = access.run_of(request.user, run_id)
    fault, after = request.GET.get("fault", "").replace("\x00", ""), request.GET.get("after", "0")
    page = report.failed_rows(run, fault=fault, after=int(after) if after.isdecimal() else 0)
    context = {
        "study": run.study,
        "run": run,
        "line": run_line(run),
        "fault": fault,
        "meaning": FAULTS[fault][0] if fault in FAULTS else "",
        "page": page,
    }
    part = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/models/{'failed_part' if part else 'failed'}.html", context)


@login_required
@require_POST
def cancel_run(request: HttpRequest, run_id: int) -> HttpResponse:
    run = access.run_of(request.user, run_id)
    try:
        runs.cancel(run, actor=request.user)
    except DomainError as error:
        messages.error(request, said(error))
    return redirect("scoring_run", run.pk)


@login_required
@require_POST
def retry_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Try again what has no score yet."""
    run = access.run_of(request.user, run_id)
    try:
        again: ScoringRun = runs.retry(run, actor=request.user)
    except DomainError as error:
        messages.error(request, said(error))
        return redirect("scoring_run", run.pk)
    messages.success(request, _("What failed is tried again."))
    return redirect("scoring_run", again.pk)


def _histograms(run: ScoringRun) -> list[Histogram]:
    templates = run.scorer.config.get("templates", {}) if run.scorer else {}
    return histograms(report.distributions(run), first=list(templates))
