"""Making a study."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation.errors import Conflict, NotAllowed
from annotation.services import studies
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.study import NewStudyForm


@login_required
def new_study(request: HttpRequest) -> HttpResponse:
    if not request.user.may_create_studies:
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    form = NewStudyForm(request.POST or None)
    if form.is_valid():
        try:
            study = studies.create(actor=request.user, **form.cleaned_data)
        except Conflict as error:
            add_problems(form, error, field="slug")
        else:
            messages.success(request, _("The study is made. Now give it something to rate."))
            return redirect("import", study.slug)
    return render(request, "labeling_ui/study/new.html", {"form": form})
