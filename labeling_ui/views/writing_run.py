"""One writing run as it goes on: how far it is, what it wrote, what of it is published and why the rest is not."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.errors import DomainError
from labeling_ui.run_lines import flat
from labeling_ui.sentences import said
from labeling_ui.writing_lines import writing_line
from scoring.access import writing_run_of
from scoring.models import WritingRun
from scoring.services import writing_faults, writing_publishing, writing_runs


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def writing_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """The page; only the part that moves when that part asks for itself."""
    run = writing_run_of(request.user, run_id)
    faults = writing_faults.counted(run)
    context = {
        "study": run.study,
        "run": run,
        "line": writing_line(run),
        "faults": faults,
        "n_cut": sum(fault.n for fault in faults if fault.code == "cut"),
        "n_waiting": writing_faults.n_waiting(run),
        "filter": list(flat(run.filter)),
        "identity": list(flat(run.identity)),
        **_page(run, request),
    }
    live = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/writers/{'run_live' if live else 'run'}.html", context)


@login_required
@vary_on_headers("HX-Request")
@require_safe
def written_rows(request: HttpRequest, run_id: int) -> HttpResponse:
    """What a run has written, or what became nothing for one reason, a page at a time."""
    run = writing_run_of(request.user, run_id)
    context = {"study": run.study, "run": run, "line": writing_line(run), **_page(run, request)}
    part = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/writers/{'rows_part' if part else 'rows'}.html", context)


@login_required
@require_POST
def publish_run(request: HttpRequest, run_id: int) -> HttpResponse:
    cut = request.POST.get("cut") == "yes"
    return _do(
        request, run_id, lambda run: writing_publishing.publish(run, cut=cut, actor=request.user),
        _("Published in the background, one after the other."),
    )  # fmt: skip


@login_required
@require_POST
def cancel_writing(request: HttpRequest, run_id: int) -> HttpResponse:
    return _do(request, run_id, lambda run: writing_runs.cancel(run, actor=request.user), "")


@login_required
@require_POST
def retry_writing(request: HttpRequest, run_id: int) -> HttpResponse:
    return _do(
        request, run_id, lambda run: writing_runs.retry(run, actor=request.user), _("What failed is tried again.")
    )  # fmt: skip


@login_required
@require_POST
def leave_out_row(request: HttpRequest, run_id: int, row_id: int) -> HttpResponse:
    return _do(
        request, run_id, lambda run: writing_publishing.leave_out(run, row_id, actor=request.user),
        _("Left out. It stays with the run."),
    )  # fmt: skip


def _do(request: HttpRequest, run_id: int, action: Callable[[WritingRun], object], done: str) -> HttpResponse:
    run = writing_run_of(request.user, run_id)
    try:
        action(run)
    except DomainError as error:
        messages.error(request, said(error))
    else:
        if done:
            messages.success(request, done)
    return redirect("writing_run", run.pk)


def _page(run: WritingRun, request: HttpRequest) -> dict[str, object]:
    fault = request.GET.get("fault", "").replace("\x00", "")
    after = request.GET.get("after", "0")
    rows = writing_faults.written(run, after=int(after) if after.isdecimal() else 0, fault=fault or None)
    more = len(rows) > writing_faults.SKIMMED
    rows = rows[: writing_faults.SKIMMED]
    return {"rows": rows, "fault": fault, "next_after": rows[-1].pk if more else 0}
