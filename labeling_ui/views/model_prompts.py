"""A study's own prompts: taken as a file, changed by the researcher, given back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation import access
from annotation.errors import InvalidInput, NotFound
from annotation.models import Study
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.scoring import PromptFileForm
from scoring.prompts.write import written
from scoring.services import study_models, study_prompts


@login_required
@require_safe
def model_prompts(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, access.managed_study(request.user, slug))


@login_required
def prompt_file(request: HttpRequest, slug: str, family: str) -> HttpResponse:
    """The prompts in use, as a file to keep; posted to, they are replaced by another file."""
    study = access.managed_study(request.user, slug)
    study_prompts.check_family(family)
    if request.method != "POST":
        return _download(study, family)
    form = PromptFileForm(request.POST, request.FILES, prefix=family)
    if form.is_valid():
        try:
            study_models.set_prompts(study, family, form.cleaned_data["file"], actor=request.user)
        except InvalidInput as error:
            add_problems(form, error, field="file")
        else:
            messages.success(request, _("Saved. Runs asked for from now on use these prompts."))
            return redirect("model_prompts", slug)
    return _page(request, study, form)


@login_required
@require_POST
def remove_prompts(request: HttpRequest, slug: str, family: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    study_prompts.check_family(family)
    study_models.set_prompts(study, family, None, actor=request.user)
    messages.success(request, _("Runs asked for from now on use the prompts that come with the scorer."))
    return redirect("model_prompts", slug)


def _page(request: HttpRequest, study: Study, bound: PromptFileForm | None = None) -> HttpResponse:
    rows = []
    for family in study_prompts.families():
        form = bound if bound is not None and bound.prefix == family else PromptFileForm(prefix=family)
        rows.append((family, study_prompts.own(study, family), study_prompts.in_use(study, family), form))
    return render(request, "labeling_ui/models/prompts.html", {"study": study, "rows": rows})


def _download(study: Study, family: str) -> HttpResponse:
    prompts = study_prompts.in_use(study, family)
    if prompts is None:
        raise NotFound
    response = HttpResponse(written(prompts), content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{family}.toml"'
    return response
