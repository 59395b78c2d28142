"""Releases of a study: what there is, what one holds, and making another."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy

from analytics.datasets import exports as datasets_exports
from analytics.datasets import releases as service
from analytics.datasets import training_sets as training_sets_service
from analytics.models import Release
from annotation import access
from annotation.errors import InvalidInput
from annotation.models import Job, Study
from labeling_ui.domain_errors import errors_in_form
from labeling_ui.page_responses import button
from labeling_ui.study.dataset_forms import ExportForm, ReleaseForm, TrainingSetForm

# Writing a study out, and fetching what was written.


EXPORTS_SHOWN = 20


@login_required
def export(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ExportForm(request.POST or None)
    if form.is_valid():
        job = datasets_exports.start_export(study, actor=request.user, **form.cleaned_data)
        return redirect("job", job.pk)
    exports = study.jobs.filter(kind=datasets_exports.EXPORT_JOB).exclude(state=Job.State.CANCELLED)
    context = {"study": study, "form": form, "exports": exports.order_by("-created_at")[:EXPORTS_SHOWN]}
    return render(request, "labeling_ui/study/datasets/export.html", context)


RELEASES_SHOWN = 100


@login_required
def releases(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ReleaseForm(request.POST or None, initial={"audio": ""})
    if form.is_valid():
        with errors_in_form(form, field="note"):
            return redirect("job", service.start_release(study, form.options(), actor=request.user).pk)
    rows = list(study.releases.select_related("study").order_by("-number")[:RELEASES_SHOWN])
    context = {
        "study": study,
        "form": form,
        "releases": [(release, service.withdrawn_since(release)) for release in rows],
        "preview": service.preview_release(study),
        "under_way": study.jobs.filter(kind=service.RELEASE_JOB, state__in=Job.UNFINISHED).first(),
    }
    return render(request, "labeling_ui/study/datasets/releases.html", context)


@login_required
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    row = service.managed_release(request.user, slug, number)
    context = {
        "study": row.study,
        "release": row,
        "withdrawn_since": service.withdrawn_since(row),
        "manifest": row.manifest,
        "tables": _release_tables(row),
        "differences": _release_differences(row),
    }
    return render(request, "labeling_ui/study/datasets/release.html", context)


delete_release_file = button(
    service.managed_release,
    service.delete_file,
    gettext_lazy("The file is deleted. What was released, and its hash, stay on record."),
    to="release",
    of="slug number",
)


def _release_tables(release: Release) -> list[tuple[str, int, int]]:
    """By table its rows, and the bytes of its Parquet."""
    files = release.manifest["files"]
    sizes = {path.split("/")[1]: file["bytes"] for path, file in files.items() if path.startswith("data/")}
    configs = release.manifest["configs"]
    return [(name, config["rows"], sizes.get(name, 0)) for name, config in sorted(configs.items())]


def _release_differences(release: Release) -> list[tuple[str, str, int, str]]:
    """Table, kind, rows, and why, as the comparison tells them."""
    tables = release.differences.get("tables", {})
    return [
        (name, kind, change["rows"], ", ".join(f"{why} ({n})" for why, n in change["why"].items()))
        for name, kinds in tables.items()
        for kind, change in kinds.items()
    ]


# Training sets: trying what one would be, and asking for it.


SETS_SHOWN = 20
_CELL_CHARACTERS = 60


@login_required
def training_sets(request: HttpRequest, slug: str) -> HttpResponse:
    """A form with two buttons: one tries what is asked for, one makes it."""
    study = access.managed_study(request.user, slug)
    data = request.POST if request.method == "POST" else None
    form = TrainingSetForm(data, formats=training_sets_service.formats_of(study))
    context: dict[str, Any] = {"study": study, "form": form}
    if form.is_valid():
        try:
            if "preview" not in request.POST:
                job = training_sets_service.start_training_set(study, form.options, actor=request.user)
                return redirect("job", job.pk)
            context |= _training_set_preview(study, form)
        except InvalidInput as error:
            form.add_error(None, error.message)
    jobs = study.jobs.filter(kind=training_sets_service.TRAINING_SET_JOB).exclude(state=Job.State.CANCELLED)
    context["sets"] = jobs.order_by("-created_at")[:SETS_SHOWN]
    return render(request, "labeling_ui/study/datasets/training_sets.html", context)


def _training_set_preview(study: Study, form: TrainingSetForm) -> dict[str, Any]:
    preview = training_sets_service.preview_training_set(study, form.options)
    columns = preview["columns"]
    rows = [
        (table, [[_cell(row[name]) for name in columns] for row in table["first"]])
        for table in preview["tables"]
    ]
    return {"tried": preview, "shown": rows}


def _cell(value: Any) -> str:
    """As JSON has it, but texts without their quotes; cut where it is long."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _CELL_CHARACTERS else f"{text[:_CELL_CHARACTERS]}…"
