"""Which tasks come first, on a study's settings page."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import InvalidInput
from annotation.services import ordering
from labeling_ui.forms.ordering import OrderingForm
from labeling_ui.forms.problems import add_problems


@login_required
def ordering_rule(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = OrderingForm(request.POST or None, study=study)
    if form.is_valid():
        try:
            ordering.set_rule(study, actor=request.user, **form.wanted())
        except InvalidInput as error:
            add_problems(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    context = {"study": study, "ordering_form": form, "policy": ordering.policy_of(study)}
    return render(request, "labeling_ui/study/ordering_rule.html", context)
