"""Writing a study out, and fetching what was written."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from analytics.services import export_jobs
from annotation import access
from annotation.models import Job
from labeling_ui.forms.exports import ExportForm

EXPORTS_SHOWN = 20


@login_required
def export(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ExportForm(request.POST or None)
    if form.is_valid():
        job = export_jobs.start(study, actor=request.user, **form.cleaned_data)
        return redirect("job", job.pk)
    exports = study.jobs.filter(kind=export_jobs.KIND).exclude(state=Job.State.CANCELLED)
    context = {"study": study, "form": form, "exports": exports.order_by("-created_at")[:EXPORTS_SHOWN]}
    return render(request, "labeling_ui/study/export.html", context)
