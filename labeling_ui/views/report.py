"""What a study found, as a paper would print it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.renderings import files, html
from analytics.reports.paper.steps import STEPS
from analytics.services import report_jobs
from analytics.statistics.bootstrap import REPLICATES
from annotation import access
from annotation.models import Job, Study
from labeling_ui.forms.report import ReportForm

# A page stays light however long a table is; its files have all rows.
ROWS_SHOWN = 50


@login_required
@never_cache
@vary_on_headers("HX-Request")
def report(request: HttpRequest, slug: str) -> HttpResponse:
    """The last report that was made; posted to, a new one is asked for. Only the part that moves when that asks."""
    study = access.managed_study(request.user, slug)
    newest = report_jobs.newest(study)
    if request.headers.get("HX-Request") == "true":
        return _live(request, study, newest)
    done = report_jobs.last_made(study)
    form = ReportForm(request.POST or None, initial=_initial(done))
    if form.is_valid():
        report_jobs.start(study, actor=request.user, **form.cleaned_data)
        return redirect("report", slug)
    context = {"study": study, "form": form, "computed_at": done.finished_at if done else None}
    if done:
        context["document"] = found = report_jobs.document_of(done)
        context["shown"] = html.part(
            found, most_rows=ROWS_SHOWN, address=lambda *name: _address(study, *name)
        )
    return render(request, "labeling_ui/report/report.html", context | _progress(newest))


@login_required
@require_safe
def report_file(request: HttpRequest, slug: str, key: str, extension: str) -> HttpResponse:
    """The last report as one file, all of its tables and figures, or one of them."""
    study = access.managed_study(request.user, slug)
    done = report_jobs.last_made(study)
    found = (
        None
        if done is None
        else files.file_of(report_jobs.document_of(done), key, extension, folder=_stem(study))
    )
    if found is None:
        raise Http404
    response = HttpResponse(found, content_type=files.CONTENT_TYPES[extension])
    name = _stem(study) if key == files.WHOLE else f"{_stem(study)}-{key}"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response


def _live(request: HttpRequest, study: Study, newest: Job | None) -> HttpResponse:
    response = render(request, "labeling_ui/report/live.html", {"study": study} | _progress(newest))
    if newest is None or newest.is_finished:
        response["HX-Refresh"] = "true"
    return response


def _progress(job: Job | None) -> dict[str, object]:
    """`step`: what the worker is at, by its name and number."""
    if job is None or job.is_finished:
        return {"job": job}
    place = min(job.done, len(STEPS) - 1)
    return {"job": job, "step": STEPS[place], "number": place + 1, "steps": len(STEPS)}


def _initial(done: Job | None) -> dict[str, object]:
    """As last time."""
    first = {"interval": "jackknife", "replicates": REPLICATES, "seed": 0, "language": get_language()}
    return done.params if done else first


def _address(study: Study, key: str, extension: str) -> str:
    return reverse("report_file", args=[study.slug, key, extension])


def _stem(study: Study) -> str:
    return f"{study.slug}-report"
