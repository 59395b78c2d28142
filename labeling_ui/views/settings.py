"""What a study is called, how long a task may take, and what its protocol asks."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.services import ordering, studies
from annotation.services.protocols import loaded
from labeling_ui.forms.checks import ChecksForm
from labeling_ui.forms.hints import HintsForm
from labeling_ui.forms.listening import ListeningForm
from labeling_ui.forms.ordering import OrderingForm
from labeling_ui.forms.stopping import StoppingForm
from labeling_ui.forms.study import SettingsForm


@login_required
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = SettingsForm(request.POST or None, initial=model_to_dict(study, list(SettingsForm.base_fields)))
    if form.is_valid():
        studies.change(study, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("settings", slug)
    checks_form = ChecksForm(initial=ChecksForm.initial_of(study), auto_id="checks_%s")
    protocol = loaded(study.protocol_version_id)
    return render(
        request,
        "labeling_ui/study/settings.html",
        {
            "study": study,
            "form": form,
            "protocol": protocol,
            "listening_form": ListeningForm(study=study),
            "checks_form": checks_form,
            "stopping_form": StoppingForm(study=study),
            "hints_form": HintsForm(study=study),
            "ordering_form": OrderingForm(study=study),
            "policy": ordering.policy_of(study),
        },
    )
