"""Whether raters see what a model says, on a study's settings page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import InvalidInput
from labeling_ui.forms.hints import HintsForm
from labeling_ui.forms.problems import add_problems
from scoring.services import hints


@login_required
def hint_rule(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = HintsForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            hints.set_rule(study, actor=request.user, **form.wanted(study))
        except InvalidInput as error:
            add_problems(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    return render(request, "labeling_ui/study/hint_rule.html", {"study": study, "hints_form": form})
