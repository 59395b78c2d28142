"""What a study is called, how long a task may take, and what its protocol asks."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import Conflict, InvalidInput, NotAllowed
from annotation.listening import checks, coverage
from annotation.rating import stopping, task_selection
from annotation.studies import studies
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import add_form_errors
from labeling_ui.study.forms import NewStudyForm, SettingsForm
from labeling_ui.study.settings_forms import ChecksForm, HintsForm, ListeningForm, OrderingForm, StoppingForm
from scoring.policies import hints


@login_required
def check_settings(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ChecksForm(request.POST or None, initial=ChecksForm.initial_of(study))
    if form.is_valid():
        try:
            checks.set_check_rules(study, actor=request.user, **form.cleaned_data)
        except InvalidInput as error:
            add_form_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    return render(
        request, "labeling_ui/study/settings/check_settings.html", {"study": study, "checks_form": form}
    )


@login_required
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = SettingsForm(request.POST or None, initial=model_to_dict(study, list(SettingsForm.base_fields)))
    if form.is_valid():
        studies.change_study(study, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("settings", slug)
    checks_form = ChecksForm(initial=ChecksForm.initial_of(study), auto_id="checks_%s")
    protocol = load_protocol(study.protocol_version_id)
    return render(
        request,
        "labeling_ui/study/settings/settings.html",
        {
            "study": study,
            "form": form,
            "protocol": protocol,
            "listening_form": ListeningForm(study=study),
            "checks_form": checks_form,
            "stopping_form": StoppingForm(study=study),
            "hints_form": HintsForm(study=study),
            "ordering_form": OrderingForm(study=study),
            "policy": task_selection.ordering_policy_of(study),
        },
    )


# Making a study.


@login_required
def new_study(request: HttpRequest) -> HttpResponse:
    if not request.user.may_create_studies:
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    form = NewStudyForm(request.POST or None)
    if form.is_valid():
        try:
            study = studies.create_study(actor=request.user, **form.cleaned_data)
        except Conflict as error:
            add_form_errors(form, error, field="slug")
        else:
            messages.success(request, _("The study is made. Now give it something to rate."))
            return redirect("import", study.slug)
    return render(request, "labeling_ui/study/new.html", {"form": form})


# What a study asks of listening, on its settings page.


@login_required
def listening_rules(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ListeningForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            coverage.set_listening_rules(study, actor=request.user, **form.wanted())
        except InvalidInput as error:
            add_form_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "listening_form": form}
    return render(request, "labeling_ui/study/settings/listening_rules.html", context)


# Which tasks come first, on a study's settings page.


@login_required
def ordering_rule(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = OrderingForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            task_selection.set_ordering(study, actor=request.user, **form.wanted())
        except InvalidInput as error:
            add_form_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "ordering_form": form, "policy": task_selection.ordering_policy_of(study)}
    return render(request, "labeling_ui/study/settings/ordering_rule.html", context)


# Whether raters see what a model says, on a study's settings page.


@login_required
def hint_rule(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = HintsForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            hints.set_rule(study, actor=request.user, **form.wanted(study))
        except InvalidInput as error:
            add_form_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    return render(request, "labeling_ui/study/settings/hint_rule.html", {"study": study, "hints_form": form})


# When a study stops asking for votes on a pair, on its settings page.


@login_required
def stopping_rule(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = StoppingForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            stopping.set_stopping_rule(study, actor=request.user, **form.wanted())
        except InvalidInput as error:
            add_form_errors(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "stopping_form": form}
    return render(request, "labeling_ui/study/settings/stopping_rule.html", context)
