"""From files to a study: bring them, say what they hold with the first rows in view, and import."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.base import File
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation import access, protocols
from annotation.errors import Conflict, DomainError, InvalidInput, NotAllowed
from annotation.importing import import_jobs, uploads
from annotation.importing.formats import FORMATS, RowProblem
from annotation.importing.formats.detection import TablePreview, several_systems_per_item, suggest_preset
from annotation.models import Study, Upload
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import (
    add_form_errors,
    errors_as_messages,
    problem_sentences,
    too_many_files_message,
)
from labeling_ui.page_responses import action
from labeling_ui.study.import_forms import MappingForm, NewStudyPart, ReadingForm, import_field_help

# Folders of sounds are read as the protocol compares them.
AUDIO_FOLDER_FORMAT = "audiofolder"
DEFAULT_PRESET = "cmi-pref"


@login_required
def from_files(request: HttpRequest) -> HttpResponse:
    if not request.user.may_create_studies:
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
    request_values = request.POST or request.GET
    guessed = uploads.detect_upload_format(files)
    format = request_values.get("format") or ("csv" if isinstance(guessed, RowProblem) else guessed[0])
    trouble = guessed.problem if isinstance(guessed, RowProblem) and "format" not in request_values else ""
    preview, unreadable = _first_rows(files, format)
    preset_key = _suggested_preset(files, format, request_values.get("preset", ""), preview)
    protocol = (
        load_protocol(files.study.protocol_version_id).spec if files.study else protocols.preset(preset_key)
    )
    if format == AUDIO_FOLDER_FORMAT and not unreadable:
        preview = uploads.preview_upload(files, format=format, protocol=protocol)
    reading = ReadingForm(
        initial={"format": format, "preset": preset_key}, study=files.study, preset_key=preset_key
    )
    mapping = MappingForm(request.POST or None, look=preview, protocol=protocol)
    stem = PurePath(files.name).stem
    title = re.sub(r"[_\-.]+", " ", stem).strip().capitalize()[:200]
    suggested = {"title": title, "slug": slugify(stem)[:80]}
    part = None if files.study else NewStudyPart(request.POST or None, initial=suggested)
    valid = all([mapping.is_valid(), part is None or part.is_valid()])
    if request.method == "POST" and not unreadable and valid:
        try:
            return redirect("job", _start_import(request, files, format, preset_key, mapping, part).pk)
        except DomainError as error:
            add_form_errors(part if part and error.code in ("slug_taken", "bad_slug") else mapping, error)
    context = {
        "study": files.study,
        "upload": files,
        "why": "" if isinstance(guessed, RowProblem) else guessed[1],
        "guessed": not isinstance(guessed, RowProblem) and format == guessed[0],
        "problem": unreadable or trouble,
        "reading": reading,
        "mapping": mapping,
        "part": part,
        "look": preview,
        "controls": format in FORMATS and FORMATS[format].control_prefix,
        "format": format,
        "preset_key": preset_key,
        "protocol": protocol,
        "meanings": import_field_help(protocol),
    }
    return render(request, "labeling_ui/study/imports/upload.html", context)


def _first_rows(upload: Upload, format: str) -> tuple[TablePreview | None, str]:
    """The first rows, and why there are none."""
    if format not in FORMATS:
        return None, f"{format!r} is not a format."
    try:
        return uploads.preview_upload(upload, format=format), ""
    except DomainError as error:
        return None, problem_sentences(error)


def _suggested_preset(upload: Upload, format: str, requested: str, preview: TablePreview | None) -> str:
    if upload.study is not None:
        return load_protocol(upload.study.protocol_version_id).spec.key
    if requested in protocols.preset_keys():
        return requested
    if own := FORMATS[format].protocol if format in FORMATS else "":
        return own
    if preview is None:
        return DEFAULT_PRESET
    fields = set(preview.suggested.values())
    compares = several_systems_per_item(uploads.source_of(upload, format=format), format, preview.suggested)
    return suggest_preset(fields, compares=compares)


def _start_import(
    request: HttpRequest,
    upload: Upload,
    format: str,
    preset_key: str,
    mapping: MappingForm,
    part: NewStudyPart | None,
) -> Any:
    return uploads.import_upload(
        upload,
        format=format,
        actor=request.user,
        new_study=part.study(preset_key) if part else None,
        column_map=mapping.column_map() if FORMATS[format].fields else {},
        **mapping.options,
    )


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
