"""A study's settings: listening, listening checks, stopping early, task order, model hints; and new studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import access
from annotation.errors import Conflict, InvalidInput, NotAllowed
from annotation.listening import checks, coverage
from annotation.rating import stopping, task_selection
from annotation.studies import studies
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import errors_in_form
from labeling_ui.study.forms import NewStudyForm, SettingsForm
from labeling_ui.study.settings_forms import (
    ChecksForm,
    HintsForm,
    ListeningForm,
    OrderingForm,
    SectionForm,
    StoppingForm,
)
from scoring.policies import hints


@dataclass(frozen=True)
class Section:
    """A part of a study's settings with a form of its own.

    `key` names its template and its place on the page; `url_name` its own page; `save` is the service that stores
    the form's values. `unavailable` says why a study has no such settings.
    """

    key: str
    url_name: str
    title: Promise
    form: type[SectionForm]
    save: Callable[..., object]
    unavailable: Promise | str = ""

    @property
    def template(self) -> str:
        return f"labeling_ui/study/settings/{self.key}.html"


SECTIONS = {
    section.key: section
    for section in (
        Section(
            "listening",
            "listening_rules",
            gettext_lazy("Listening"),
            ListeningForm,
            coverage.set_listening_rules,
        ),
        Section(
            "checks", "check_settings", gettext_lazy("Listening checks"), ChecksForm, checks.set_check_rules
        ),
        Section(
            "stopping",
            "stopping_rule",
            gettext_lazy("Stopping early"),
            StoppingForm,
            stopping.set_stopping_rule,
            gettext_lazy("This study compares no pairs, so every task gets the same number of votes."),
        ),
        Section(
            "ordering",
            "ordering_rule",
            gettext_lazy("Which tasks come first"),
            OrderingForm,
            task_selection.set_ordering,
            gettext_lazy("This study presents its tasks in the listed order, to every rater."),
        ),
        Section(
            "hints",
            "hint_rule",
            gettext_lazy("Scores shown to raters"),
            HintsForm,
            hints.set_rule,
            gettext_lazy("No question of this study can have a model prediction."),
        ),
    )
}


@login_required
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """All settings: the study's title, a form for each section, and what is fixed."""
    study = access.managed_study(request.user, slug)
    form = SettingsForm(request.POST or None, initial=model_to_dict(study, list(SettingsForm.base_fields)))
    if form.is_valid():
        studies.change_study(study, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("settings", slug)
    sections = [(section, section.form(study=study)) for section in SECTIONS.values()]
    context = {
        "study": study,
        "form": form,
        "protocol": load_protocol(study.protocol_version_id),
        "sections": [(section, form) for section, form in sections if form.is_available],
    }
    return render(request, "labeling_ui/study/settings/settings.html", context)


@login_required
def settings_section(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """One section by itself: where its form is sent, and shown again with its errors."""
    study, section = access.managed_study(request.user, slug), SECTIONS[key]
    form = section.form(request.POST or None, study=study)
    if form.is_valid():
        with errors_in_form(form, InvalidInput):
            section.save(study, actor=request.user, **form.settings)
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "section": section, "form": form}
    return render(request, "labeling_ui/study/settings/section.html", context)


@login_required
def new_study(request: HttpRequest) -> HttpResponse:
    if not request.user.may_create_studies:
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    form = NewStudyForm(request.POST or None)
    if form.is_valid():
        with errors_in_form(form, Conflict, field="slug"):
            study = studies.create_study(actor=request.user, **form.cleaned_data)
            messages.success(request, _("The study is created. Now import items to rate."))
            return redirect("import", study.slug)
    return render(request, "labeling_ui/study/new.html", {"form": form})
