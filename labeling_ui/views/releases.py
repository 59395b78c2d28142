"""Releases of a study: what there is, what one holds, and making another."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from analytics import release_access
from analytics.models import Release
from analytics.services import releases as service
from annotation import access
from annotation.errors import DomainError
from annotation.models import Job
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.releases import ReleaseForm

RELEASES_SHOWN = 100


@login_required
def releases(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ReleaseForm(request.POST or None, initial={"audio": ""})
    if form.is_valid():
        try:
            job = service.start(study, form.wishes(), actor=request.user)
        except DomainError as error:
            add_problems(form, error, field="note")
        else:
            return redirect("job", job.pk)
    made = list(study.releases.select_related("study").order_by("-number")[:RELEASES_SHOWN])
    context = {
        "study": study,
        "form": form,
        "releases": [(release, service.withdrawn_since(release)) for release in made],
        "preview": service.preview(study),
        "under_way": study.jobs.filter(kind=service.KIND, state__in=Job.UNFINISHED).first(),
    }
    return render(request, "labeling_ui/study/releases.html", context)


@login_required
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    found = release_access.release_of(request.user, slug, number)
    context = {
        "study": found.study,
        "release": found,
        "withdrawn_since": service.withdrawn_since(found),
        "manifest": found.manifest,
        "tables": _tables(found),
        "differences": _differences(found),
    }
    return render(request, "labeling_ui/study/release.html", context)


@login_required
@require_POST
def delete_release_file(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    found = release_access.release_of(request.user, slug, number)
    service.delete_file(found, actor=request.user)
    messages.success(request, _("The file is deleted. What was released, and its hash, stay on record."))
    return redirect("release", slug, number)


def _tables(release: Release) -> list[tuple[str, int, int]]:
    """By table its rows, and the bytes of its Parquet."""
    files = release.manifest["files"]
    sizes = {path.split("/")[1]: file["bytes"] for path, file in files.items() if path.startswith("data/")}
    configs = release.manifest["configs"]
    return [(name, config["rows"], sizes.get(name, 0)) for name, config in sorted(configs.items())]


def _differences(release: Release) -> list[tuple[str, str, int, str]]:
    """Table, kind, rows, and why, as the comparison tells them."""
    tables = release.differences.get("tables", {})
    return [
        (name, kind, told["rows"], ", ".join(f"{why} ({n})" for why, n in told["why"].items()))
        for name, kinds in tables.items()
        for kind, told in kinds.items()
    ]
