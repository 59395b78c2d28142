"""Versions of learned models compared on what none of them learned from."""

from __future__ import annotations

import uuid

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.renderings import files, html
from analytics.reports.learned.held_out import version_name
from analytics.services import learned_comparison_jobs
from annotation import access
from annotation.errors import InvalidInput
from annotation.models import Job, Study
from labeling_ui.forms.comparing import ComparisonForm
from labeling_ui.sentences import said
from scoring.models import LearnedModel

# A page stays light however long a table is; its files have all rows.
ROWS_SHOWN = 50
LISTED = 20


@login_required
@never_cache
def comparisons(request: HttpRequest, slug: str) -> HttpResponse:
    """What was compared, and asking for more; `?versions=` ticks some."""
    study = access.managed_study(request.user, slug)
    asked = request.GET.getlist("versions")
    form = ComparisonForm(
        study, request.POST or None, initial={"language": get_language(), "versions": asked}
    )
    if form.is_valid():
        try:
            job = learned_comparison_jobs.start(study, actor=request.user, **form.cleaned_data)
            return redirect("comparison", slug, job.pk)
        except InvalidInput as error:
            form.add_error("versions", said(error))
    made = list(learned_comparison_jobs.of_study(study)[:LISTED])
    context = {"study": study, "form": form, "made": _named(study, made)}
    return render(request, "labeling_ui/models/comparisons.html", context)


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def comparison(request: HttpRequest, slug: str, job_id: uuid.UUID) -> HttpResponse:
    """One comparison, under way or made; only the part that moves when that asks for itself."""
    study, job = _found(request, slug, job_id)
    context = {"study": study, "job": job, "named": _named(study, [job])[0][1]}
    if request.headers.get("HX-Request") == "true":
        response = render(request, "labeling_ui/models/comparison_live.html", context)
        if job.is_finished:
            response["HX-Refresh"] = "true"
        return response
    if job.state == Job.State.DONE:
        context["document"] = found = learned_comparison_jobs.document_of(job)
        context["shown"] = html.part(
            found,
            most_rows=ROWS_SHOWN,
            address=lambda key, extension: reverse("comparison_file", args=[slug, job_id, key, extension]),
        )
    return render(request, "labeling_ui/models/comparison.html", context)


@login_required
@require_safe
def comparison_file(
    request: HttpRequest, slug: str, job_id: uuid.UUID, key: str, extension: str
) -> HttpResponse:
    """A comparison as one file, all of its tables and figures, or one of them."""
    study, job = _found(request, slug, job_id)
    stem = f"{study.slug}-comparison"
    found = (
        files.file_of(learned_comparison_jobs.document_of(job), key, extension, folder=stem)
        if job.state == Job.State.DONE
        else None
    )
    if found is None:
        raise Http404
    response = HttpResponse(found, content_type=files.CONTENT_TYPES[extension])
    name = stem if key == files.WHOLE else f"{stem}-{key}"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response


def _found(request: HttpRequest, slug: str, job_id: uuid.UUID) -> tuple[Study, Job]:
    study = access.managed_study(request.user, slug)
    return study, learned_comparison_jobs.comparison_of(access.job_of(request.user, job_id), study)


def _named(study: Study, made: list[Job]) -> list[tuple[Job, str]]:
    """Each comparison with the versions that it is of."""
    wanted = {pk for job in made for pk in job.params["versions"]}
    names = {
        model.pk: version_name(model) for model in LearnedModel.objects.filter(study=study, pk__in=wanted)
    }
    return [(job, ", ".join(names.get(pk, "–") for pk in job.params["versions"])) for job in made]
