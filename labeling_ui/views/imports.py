"""Bringing items, candidates and judgments into a study."""

from __future__ import annotations

import uuid
from pathlib import Path

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import access
from annotation.errors import DomainError, InvalidInput, NotFound
from annotation.importers import FORMATS
from annotation.models import Job, Study
from annotation.services import imports, uploads
from annotation.services.protocols import loaded
from labeling_ui.forms.imports import BaseColumnFormSet, ColumnFormSet, ImportForm, meanings
from labeling_ui.forms.problems import add_problems

OPTIONS = ("dry_run", "skip_bad_rows", "archive")
REPEATED = ("format", "column_map", "overlap", "archive", "skip_bad_rows")


@login_required
def import_items(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    protocol = loaded(study.protocol_version_id).spec
    form = ImportForm(request.POST or None, request.FILES or None, preset=protocol.key)
    columns = ColumnFormSet(request.POST or None, prefix="columns", form_kwargs={"protocol": protocol})
    if request.method == "POST" and all([form.is_valid(), columns.is_valid()]):
        try:
            return redirect("job", _start(request, study, form, columns).pk)
        except DomainError as error:
            add_problems(form, error, field="file")
    context = {"study": study, "protocol": protocol, "form": form, "columns": columns}
    return render(request, "labeling_ui/study/import.html", {**context, "meanings": meanings(protocol)})


@login_required
@require_POST
def import_for_real(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Do what a trial import has tried, with the same file and options."""
    trial = access.job_of(request.user, job_id)
    if trial.kind != "import" or trial.study is None or not trial.params.get("dry_run"):
        raise NotFound
    try:
        params = {name: trial.params[name] for name in REPEATED}
        job = imports.start(trial.study, Path(trial.params["source"]), actor=request.user, **params)
    except InvalidInput:
        messages.error(request, _("The file of this trial is not kept any more: upload it again."))
        return redirect("import", trial.study.slug)
    return redirect("job", job.pk)


def _start(request: HttpRequest, study: Study, form: ImportForm, columns: BaseColumnFormSet) -> Job:
    format = form.cleaned_data["format"]
    return imports.start(
        study,
        uploads.receive(form.cleaned_data["file"], format=format),
        format=format,
        column_map=columns.column_map() if FORMATS[format].fields else None,
        actor=request.user,
        **{name: form.cleaned_data[name] for name in OPTIONS},
    )
