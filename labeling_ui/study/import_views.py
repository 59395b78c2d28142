"""From files to a study: bring them, say what they hold with the first rows in view, and import."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.base import File
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation import access
from annotation.api import downloads
from annotation.errors import Conflict, DomainError, InvalidInput, NotAllowed
from annotation.importing import import_jobs, uploads
from annotation.importing.formats import FORMATS
from annotation.models import Study
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import (
    add_form_errors,
    errors_as_messages,
    problem_sentences,
    too_many_files_message,
)
from labeling_ui.page_responses import action
from labeling_ui.study.import_forms import import_field_help
from labeling_ui.study.upload_page import UploadPage

# Sent to render the page again with its forms' values.
UPDATE = "update"
SOUND_TYPES = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
    ".mp4": "audio/mp4",
    ".aac": "audio/aac",
    ".webm": "audio/webm",
    ".aif": "audio/aiff",
    ".aiff": "audio/aiff",
}


@login_required
def from_files(request: HttpRequest) -> HttpResponse:
    if not access.may_create_studies(request.user):
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    return _receive_upload(request, None, "labeling_ui/study/imports/from_files.html", {})


@login_required
def import_items(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    protocol = load_protocol(study.protocol_version_id).spec
    context = {"study": study, "protocol": protocol, "meanings": import_field_help(protocol)}
    return _receive_upload(request, study, "labeling_ui/study/imports/import.html", context)


def _receive_upload(
    request: HttpRequest, study: Study | None, template: str, context: dict[str, Any]
) -> HttpResponse:
    problem = ""
    # The script that shows how far the upload is goes on to the next page by itself.
    by_script = request.headers.get("Accept", "").startswith("application/json")
    if request.method == "POST":
        try:
            upload = uploads.receive_upload(_uploaded_files(request), actor=request.user, study=study)
        except DomainError as error:
            problem = problem_sentences(error)
        else:
            address = reverse("upload", args=[upload.pk])
            if study is None and (workspace := request.GET.get("workspace")):
                address += f"?{urlencode({'workspace': workspace})}"
            return JsonResponse({"next": address}) if by_script else redirect(address)
    if problem and by_script:
        return JsonResponse({"detail": problem}, status=400)
    limits = {"most_files": settings.DATA_UPLOAD_MAX_NUMBER_FILES, "too_many_files": too_many_files_message()}
    context = {**context, **limits, "problem": problem}
    return render(request, template, context, status=400 if problem else 200)


def _uploaded_files(request: HttpRequest) -> Sequence[tuple[str, File[bytes]]]:
    """With their paths inside the chosen folder, which a browser sends apart: a form's files have bare names."""
    files = request.FILES.getlist("file")
    paths = request.POST.getlist("path")
    named = paths if len(paths) == len(files) else [file.name or "file" for file in files]
    return list(zip(named, files, strict=True))


@login_required
def upload(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponse:
    files = access.upload_of(request.user, upload_id)
    sent = request.POST if request.method == "POST" else None
    page = UploadPage(files, request.POST or request.GET, sent)
    if sent is not None and UPDATE not in sent and page.is_valid():
        try:
            return redirect("job", _start_import(request, page).pk)
        except DomainError as error:
            at_study = page.part and error.code in ("slug_taken", "bad_slug")
            add_form_errors(page.part if at_study else page.mapping, error)
    context = {
        "page": page,
        "study": files.study,
        "upload": files,
        "reading": page.reading,
        "mapping": page.mapping,
        "part": page.part,
        "look": page.look,
        "format": page.format,
        "preset_key": page.preset_key,
        "protocol": page.protocol,
        "controls": page.format in FORMATS and FORMATS[page.format].control_prefix,
        "meanings": import_field_help(page.protocol, clip_per_row=page.mapping.clip_per_row),
    }
    return render(request, "labeling_ui/study/imports/upload.html", context)


def _start_import(request: HttpRequest, page: UploadPage) -> Any:
    return uploads.import_upload(
        page.upload,
        format=page.format,
        actor=request.user,
        new_study=page.part.study(page.preset_key) if page.part else None,
        **page.options,
    )


@login_required
def upload_sound(request: HttpRequest, upload_id: uuid.UUID) -> HttpResponseBase:
    """A sound of an upload, for whoever uploaded it."""
    sound = uploads.sound_of(access.upload_of(request.user, upload_id), request.GET.get("path", ""))
    content_type = SOUND_TYPES.get(sound.suffix.lower(), "application/octet-stream")
    with sound.open("rb") as file:
        return downloads.send_range(request, downloads.StoredFile(File(file)), content_type=content_type)


# Doing in earnest what a trial import has tried.


@action
def import_for_real(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    trial = access.job_of(request.user, job_id)
    try:
        with errors_as_messages(request, Conflict):
            return redirect("job", import_jobs.start_from_dry_run(trial, actor=request.user).pk)
    except InvalidInput:
        messages.error(request, _("The file of this dry run was deleted: upload it again."))
        return redirect("import", trial.study.slug) if trial.study else redirect("from_files")
    return redirect("job", trial.pk)
