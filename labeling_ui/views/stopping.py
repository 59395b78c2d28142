"""When a study stops asking for votes on a pair, on its settings page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import InvalidInput
from annotation.services import stopping_settings
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.stopping import StoppingForm


@login_required
def stopping_rule(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = StoppingForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            stopping_settings.set_rule(study, actor=request.user, **form.wanted())
        except InvalidInput as error:
            add_problems(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "stopping_form": form}
    return render(request, "labeling_ui/study/stopping_rule.html", context)
