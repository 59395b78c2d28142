"""A study's settings: listening, listening checks, stopping early, task order, model hints; and new studies."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import Conflict, InvalidInput, NotAllowed
from annotation.studies import studies
from labeling_ui.domain_errors import errors_in_form
from labeling_ui.study.forms import NewStudyForm, SettingsForm
from labeling_ui.study.settings_forms import SECTIONS
from labeling_ui.workspaces.forms import MoveStudyForm, workspace_address


@login_required
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """The study's title, description and minutes, and what is fixed. Each section has a page of its own."""
    study = access.managed_study(request.user, slug)
    form = SettingsForm(request.POST or None, initial=model_to_dict(study, list(SettingsForm.base_fields)))
    if form.is_valid():
        studies.change_study(study, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("settings", slug)
    context = {
        "study": study,
        "form": form,
        "role": access.study_of(request.user, slug).role,
        "mover": MoveStudyForm.offered(study, request.user),
        "workspace_url": workspace_address(study.workspace, request.user),
    }
    return render(request, "labeling_ui/study/settings/settings.html", context)


@login_required
def settings_section(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """One section: where its form is sent, and shown again, saved or with its errors."""
    study = access.managed_study(request.user, slug)
    form = SECTIONS[key](request.POST or None, study=study)
    if form.is_valid():
        with errors_in_form(form, InvalidInput):
            form.save(study, actor=request.user, **form.settings)
            messages.success(request, _("Saved."))
            return redirect(form.url_name, slug)
    return render(request, "labeling_ui/study/settings/section.html", {"study": study, "form": form})


@login_required
def new_study(request: HttpRequest) -> HttpResponse:
    if not access.may_create_studies(request.user):
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    initial = {"workspace": request.GET.get("workspace")}
    form = NewStudyForm(request.POST or None, user=request.user, initial=initial)
    if form.is_valid():
        with errors_in_form(form, Conflict, field="slug"):
            study = studies.create_study(actor=request.user, **form.values())
            if form.own_questions:
                messages.success(request, _("The study is created. Now write its questions."))
                return redirect("questions", study.slug)
            messages.success(request, _("The study is created. Now import items to rate."))
            return redirect("import", study.slug)
    return render(request, "labeling_ui/study/new.html", {"form": form})
