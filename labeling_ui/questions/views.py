"""The protocol editor: questions written as a draft, tried in a live preview, published as a version with its diff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from annotation import access
from annotation.errors import Conflict, DomainError, InvalidInput
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import Judgment, ProtocolDraft, Study, StudyAttachment
from annotation.protocols import changes, definition_of_preset, files, parse, preset, preset_keys
from annotation.protocols.faults import faults
from annotation.protocols.schema import ProtocolError
from annotation.rating import overlap as rating_overlap
from annotation.rating import previews
from annotation.studies import attachments, protocol_drafts, protocols
from annotation.studies.protocols import draft_version_id, load_protocol
from labeling_ui.domain_errors import errors_as_messages, translated_message
from labeling_ui.page_responses import action, button, url_prefix
from labeling_ui.page_responses import attachment as file_response
from labeling_ui.questions import editor_page
from labeling_ui.questions.change_texts import change_rows
from labeling_ui.questions.definition_form import (
    LANGUAGE_PATTERN,
    Definition,
    apply,
    part_at,
    read_definition,
    read_languages,
)
from labeling_ui.questions.editor_page import Fault, path_of
from labeling_ui.questions.fault_texts import fault_sentence, faults_shown
from labeling_ui.rate.page_data import listening_requirements
from labeling_ui.rate.views import workbench_data
from labeling_ui.templatetags.formatting import in_language

# Notes about the file that became the draft, by study: shown once.
NOTES = "questions_notes"


@login_required
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """The editor. A button of its form changes the draft; the page, or what the script swaps in, shows it then."""
    study = access.managed_study(request.user, slug)
    focus = ""
    if request.method == "POST":
        deed = request.POST.get("do", "")
        try:
            focus = _save(request, study, deed)
        except Conflict as conflict:
            if _is_part(request):
                return JsonResponse({"problem": translated_message(conflict)}, status=409)
            messages.error(request, translated_message(conflict))
        if not _is_part(request):
            return redirect(f"{reverse('questions', args=[slug])}{'#' + focus if focus else ''}")
    draft = protocol_drafts.draft_of(study)
    context = {
        "study": study,
        "draft": draft,
        "has_draft": draft.pk is not None,
        "version": load_protocol(study.protocol_version_id),
        "editor": _editor(study, draft),
        "focus": focus,
    }
    if _is_part(request):
        return render(request, "labeling_ui/questions/body.html", context)
    context["attachments"] = _attachments(study)
    context["notes"] = request.session.pop(NOTES, {}).get(slug, ()) if NOTES in request.session else ()
    return render(request, "labeling_ui/questions/questions.html", context)


@action
def save_questions(request: HttpRequest, slug: str) -> HttpResponse:
    """The form as it is typed: stored, with its faults as JSON."""
    study = access.managed_study(request.user, slug)
    try:
        _save(request, study, "")
    except Conflict as conflict:
        return JsonResponse({"problem": translated_message(conflict)}, status=409)
    draft = protocol_drafts.draft_of(study)
    shown = _faults(study, draft.definition)
    return JsonResponse(
        {
            "revision": draft.revision,
            "faults": [[path_of(where), sentence] for where, sentence in shown],
            "shows": not faults(draft.definition),
        }
    )


def _save(request: HttpRequest, study: Study, deed: str) -> str:
    """Store the form, after what a button does to it. Returns the id of the element to go to."""
    definition, languages = read_definition(request.POST), read_languages(request.POST)
    verb, _colon, argument = deed.partition(":")
    focus = ""
    if verb == "add_language":
        tag = request.POST.get("new_language", "").strip().lower()
        if LANGUAGE_PATTERN.match(tag) and tag not in languages:
            languages.append(tag)
        focus = "e-language"
    elif verb == "drop_language":
        languages = [tag for tag in languages if tag != argument]
        definition = _without_language(definition, argument)
        focus = "e-language"
    elif deed:
        definition = apply(definition, deed)
        if verb == "question" and protocols.has_answers(study):
            # Judgments that are there have no answer to it.
            definition["questions"][-1]["required"] = False
        focus = _focus(deed, definition)
    revision = request.POST.get("revision", "")
    protocol_drafts.save_draft(
        study,
        definition,
        actor=request.user,
        languages=languages,
        revision=int(revision) if revision.isdecimal() and len(revision) < 9 else None,
    )
    return focus


def _focus(deed: str, definition: Definition) -> str:
    """The id of the element to go to after a button, in the definition as it is then; of a row, whose first field is
    meant."""
    verb, _colon, rest = deed.partition(":")
    path, _colon, argument = rest.partition(":")
    element = "e-" + path.replace(".", "-")
    if verb == "question":
        return f"e-questions-{len(definition['questions']) - 1}-title-en"
    if verb == "copy":
        *way, last = path.split(".")
        return f"e-{'-'.join(way)}-{int(last) + 1}-title" if last.isdecimal() else ""
    if verb in ("up", "down"):
        *way, last = path.split(".")
        to = int(last) + (1 if verb == "down" else -1) if last.isdecimal() else 0
        return f"e-{'-'.join(way)}-{to}-{verb}"
    if verb == "add":
        return f"{element}-{_n_rows(definition, path) - 1}"
    if verb == "scale":
        return f"{element}-points-{argument}-points"
    if verb == "remove":
        *way, _last = path.split(".")
        return "add-title" if way == ["questions"] else f"e-{'-'.join(way)}-add"
    if verb == "confidence":
        return f"{element}-confidence-title-en" if argument == "on" else f"{element}-sure"
    return f"{element}-title" if verb == "type" else element


def _n_rows(definition: Definition, path: str) -> int:
    try:
        return len(part_at(definition, path))
    except (KeyError, IndexError, TypeError, ValueError):  # not there any more
        return 0


def _without_language(part: Any, tag: str) -> Any:
    if isinstance(part, dict):
        is_text = "en" in part and all(isinstance(text, str) for text in part.values())
        texts = {
            name: _without_language(each, tag) for name, each in part.items() if not (is_text and name == tag)
        }
        return texts["en"] if is_text and list(texts) == ["en"] else texts
    return [_without_language(each, tag) for each in part] if isinstance(part, list) else part


def _is_part(request: HttpRequest) -> bool:
    return request.headers.get("X-Part") == "body"


def _faults(study: Study, definition: Any) -> list[Fault]:
    errors = faults(definition)
    if errors:
        return faults_shown(errors, ())
    return faults_shown((), changes.refused(protocols.protocol_changes(study, parse(definition))))


def _editor(study: Study, draft: ProtocolDraft) -> editor_page.Editor:
    published = load_protocol(study.protocol_version_id).spec
    return editor_page.build(
        draft.definition,
        languages=draft.languages,
        faults=_faults(study, draft.definition),
        published_keys=[question.key for question in published.questions],
    )


# The live preview


@login_required
@never_cache
@require_safe
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF]})
def draft_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """The raters' own page, asking by the draft: in the frame beside the editor, or in a window of its own."""
    study = access.managed_study(request.user, slug)
    draft = protocol_drafts.draft_of(study)
    context: dict[str, Any] = {"study": study, "framed": "frame" in request.GET}
    if faults(draft.definition):
        return render(request, "labeling_ui/questions/no_preview.html", context)
    address = reverse("draft_preview", args=[slug])
    workbench = workbench_data(
        request,
        study,
        progress={"done": 0, "tasks": min(max(study.n_tasks, 1), previews.MAX_PREVIEWS)},
        urls={
            "next": reverse("draft_preview_next", args=[slug]),
            "assignments": url_prefix("draft_preview_task", slug),
            "sign_in": f"{reverse('sign_in')}?next={address}",
            **dict.fromkeys(("home", "returned", "checks"), reverse("questions", args=[slug])),
        },
        draft=draft.definition if draft.pk else None,
    )
    context |= {"workbench": {**workbench, "preview": True, "framed": True}}
    return render(request, "labeling_ui/questions/preview.html", context)


@login_required
@never_cache
@require_safe
def draft_guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """The guidelines of the draft, as raters will read them."""
    study = access.managed_study(request.user, slug)
    if faults(protocol_drafts.draft_of(study).definition):
        return render(request, "labeling_ui/questions/no_preview.html", {"study": study})
    spec = load_protocol(draft_version_id(study)).spec
    context = {
        "study": study,
        "protocol": spec,
        "rates": False,
        "listening": listening_requirements(spec, ListeningRules.of(study.rules)),
    }
    return render(request, "labeling_ui/rate/guidelines.html", context)


# Publishing


@login_required
def publish_questions(request: HttpRequest, slug: str) -> HttpResponse:
    """What the draft changes, and which of it cannot be; then the button."""
    study = access.managed_study(request.user, slug)
    if request.method == "POST":
        with errors_as_messages(request):
            version = protocol_drafts.publish_draft(study, actor=request.user)
            text = _("Version {n} is in force: raters get it with their next task.")
            messages.success(request, text.format(n=version.number))
            return redirect("questions", slug)
    draft = protocol_drafts.draft_of(study)
    errors = faults(draft.definition)
    differences = [] if errors else protocols.protocol_changes(study, parse(draft.definition))
    context = {
        "study": study,
        "draft": draft,
        "faults": [(fault.where, fault_sentence(fault.problem)) for fault in errors],
        "rows": change_rows(differences),
        "refused": changes.refused(differences),
        "n_judgments": Judgment.objects.filter(study=study).count(),
        "next_number": study.protocol_versions.count() + 1,
    }
    return render(request, "labeling_ui/questions/publish.html", context)


discard_questions = button(
    access.managed_study,
    protocol_drafts.discard_draft,
    gettext_lazy("The draft is discarded. The version in force stays."),
    to="questions",
    of="slug",
)


# Versions and files


@login_required
@require_safe
def question_versions(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    return _versions_page(request, study)


def _versions_page(
    request: HttpRequest,
    study: Study,
    *,
    problems: Sequence[str] = (),
    pasted: str = "",
) -> HttpResponse:
    versions = list(study.protocol_versions.select_related("created_by").order_by("number"))
    specs = [load_protocol(version.pk).spec for version in versions]
    rows = [
        {
            "version": version,
            "rows": change_rows(
                changes.compare(specs[i - 1], specs[i], tasks=False, judgments=False) if i else ()
            ),
            "n_judgments": Judgment.objects.filter(study=study, protocol_version=version).count(),
        }
        for i, version in enumerate(versions)
    ]
    context = {
        "study": study,
        "versions": rows[::-1],
        "current": load_protocol(study.protocol_version_id).number,
        "presets": [(key, in_language(preset(key).title)) for key in preset_keys()],
        "problems": problems,
        "pasted": pasted,
    }
    return render(request, "labeling_ui/questions/versions.html", context)


@login_required
@require_safe
def question_file(request: HttpRequest, slug: str) -> HttpResponse:
    """A version, or the draft, as TOML or JSON."""
    study = access.managed_study(request.user, slug)
    format = request.GET.get("format", "toml")
    if format not in files.FORMATS:
        raise Http404
    number = request.GET.get("number", "")
    if number:
        loaded = protocols.version_of(study, number)
        definition = study.protocol_versions.get(pk=loaded.version_id).definition
        name = f"{study.slug}-protocol-{loaded.number}.{format}"
    else:
        definition, name = protocol_drafts.draft_of(study).definition, f"{study.slug}-protocol-draft.{format}"
    content_type = f"{files.FORMATS[format]}; charset=utf-8"
    return file_response(files.write(definition, format), name=name, content_type=content_type)


@action
def bring_questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a file, a preset or an earlier version the draft."""
    study = access.managed_study(request.user, slug)
    text = request.POST.get("text", "")
    try:
        definition, notes = _requested_definition(request, study, text)
    except ProtocolError as error:
        problem = _("The file cannot be read: {problem}").format(problem=fault_sentence(error.problem))
        return _versions_page(request, study, problems=[problem], pasted=text[:20_000])
    protocol_drafts.save_draft(study, definition, actor=request.user, languages=[])
    request.session[NOTES] = {slug: list(notes)[:50]}
    messages.success(request, _("It is the draft now. Look it over, then publish it."))
    return redirect("questions", slug)


def _requested_definition(
    request: HttpRequest, study: Study, text: str
) -> tuple[dict[str, Any], Sequence[str]]:
    if key := request.POST.get("preset"):
        return definition_of_preset(key), ()
    if number := request.POST.get("version"):
        loaded = protocols.version_of(study, number)
        return study.protocol_versions.get(pk=loaded.version_id).definition, ()
    if file := request.FILES.get("file"):
        if file.size and file.size > 4 * files.MOST_CHARACTERS:
            raise ProtocolError("file", f"is longer than {files.MOST_CHARACTERS} characters")
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ProtocolError("file", "is no text in UTF-8") from None
    converted = files.read(text)
    return converted.definition, converted.notes


@action
def study_overlap(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    text = request.POST.get("overlap", "")
    with errors_as_messages(request, InvalidInput):
        number = int(text) if text.isdecimal() and len(text) < 5 else 0
        rating_overlap.set_study_overlap(study, number, actor=request.user)
        messages.success(request, _("Saved."))
    return redirect("question_versions", slug)


# Pictures and sounds of the guidelines


def _attachments(study: Study) -> list[dict[str, Any]]:
    rows = study.attachments.order_by("name")
    return [
        {
            "pk": row.pk,
            "name": row.name,
            "n_bytes": row.n_bytes,
            "is_sound": row.content_type.startswith("audio/"),
        }
        for row in rows
    ]


@login_required
@require_safe
def attachment(request: HttpRequest, slug: str, name: str) -> FileResponse:
    """One file, for members of the study: of the type that its bytes had, and nothing a browser would run."""
    study = access.study_of(request.user, slug).study
    row = StudyAttachment.objects.filter(study=study, name=name).first()
    if row is None:
        raise Http404
    response = FileResponse(row.file.open("rb"), content_type=row.content_type)
    response["Content-Disposition"] = f'inline; filename="{row.name}"'
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, max-age=86400"
    return response


@action
def add_attachment(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, _("Choose a file first."))
        return redirect(f"{reverse('questions', args=[slug])}#attachments")
    with errors_as_messages(request, DomainError):
        stored = attachments.add_attachment(study, file, actor=request.user)
        text = _("Stored. Put this into the guidelines: {line}")
        messages.success(request, text.format(line=f"![](attachment:{stored.name})"))
    return redirect(f"{reverse('questions', args=[slug])}#attachments")


@action
def remove_attachment(request: HttpRequest, slug: str, attachment_id: int) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    row = study.attachments.filter(pk=attachment_id).first()
    if row is None:
        raise Http404
    attachments.remove_attachment(row, actor=request.user)
    messages.success(request, _("Removed."))
    return redirect(f"{reverse('questions', args=[slug])}#attachments")
