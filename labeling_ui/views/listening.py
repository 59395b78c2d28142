"""What a study asks of listening, on its settings page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import InvalidInput
from annotation.services import listening_settings
from labeling_ui.forms.listening import ListeningForm
from labeling_ui.forms.problems import add_problems


@login_required
def listening_rules(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ListeningForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            listening_settings.set_rules(study, actor=request.user, **form.wanted())
        except InvalidInput as error:
            add_problems(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "listening_form": form}
    return render(request, "labeling_ui/study/listening_rules.html", context)
