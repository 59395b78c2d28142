"""Doing in earnest what a trial import has tried."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation import access
from annotation.errors import Conflict, InvalidInput
from annotation.services import import_repeats
from labeling_ui.sentences import said


@login_required
@require_POST
def import_for_real(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Do what a trial import has tried, with the same file and options."""
    trial = access.job_of(request.user, job_id)
    try:
        job = import_repeats.for_real(trial, actor=request.user)
    except InvalidInput:
        messages.error(request, _("The file of this trial is not kept any more: upload it again."))
        return redirect("import", trial.study.slug) if trial.study else redirect("from_files")
    except Conflict as error:
        messages.error(request, said(error))
        return redirect("job", trial.pk)
    return redirect("job", job.pk)
