"""Which rules bring cases before experts, with what they would find, and how cases are worked."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from analytics.reports import scorers
from annotation import access
from annotation.errors import DomainError, InvalidInput
from annotation.models import Study
from annotation.rules.flag_rules import FlagRules
from annotation.services import flagging, review_settings
from annotation.services.protocols import loaded
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.review_rules import ReviewRulesForm
from labeling_ui.run_lines import title_of
from labeling_ui.sentences import said

Choice = tuple[str, str]


@login_required
@never_cache
def review_rules(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = _form(request, study)
    if form.is_valid():
        try:
            review_settings.change(study, actor=request.user, flags=form.flags, **form.wanted)
        except InvalidInput as error:
            add_problems(form, error)
        else:
            return _after_saving(request, study)
    return render(request, "labeling_ui/review/rules.html", {"study": study, "form": form, "found": {}})


@login_required
@require_POST
def rules_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """What the rules in the form would find, without saving them: a part of the page, or a page of its own."""
    study = access.managed_study(request.user, slug)
    form = _form(request, study)
    context: dict[str, Any] = {"study": study, "form": form, "found": {}}
    if form.is_valid():
        counts = flagging.preview(study, FlagRules.of(study.rules).changed(form.flags))
        context["found"] = {count.rule: count for count in counts}
    part = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/review/{'rules_found' if part else 'rules'}.html", context)


@login_required
@require_POST
def apply_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Look at the whole study by its rules as they are saved."""
    return _apply(request, access.managed_study(request.user, slug))


def _after_saving(request: HttpRequest, study: Study) -> HttpResponse:
    messages.success(request, _("Saved."))
    if "apply" in request.POST:
        return _apply(request, study)
    return redirect("review_rules", study.slug)


def _apply(request: HttpRequest, study: Study) -> HttpResponse:
    try:
        job = flagging.request(study, actor=request.user)
    except DomainError as error:
        messages.error(request, said(error))
        return redirect("review_rules", study.slug)
    return redirect("job", job.pk)


def _form(request: HttpRequest, study: Study) -> ReviewRulesForm:
    data = request.POST if request.method == "POST" else None
    return ReviewRulesForm(data, study=study, choices={**_asked(study), "scorer": _scorers(study)})


def _asked(study: Study) -> dict[str, list[Choice]]:
    """The protocol's codes, and the questions whose answers can be measured."""
    if not study.protocol_version_id:
        return {"codes": [], "question": []}
    spec, language = loaded(study.protocol_version_id).spec, get_language() or "en"
    return {
        "codes": [(code.key, f"{code.key} {code.title.in_language(language)}") for code in spec.codes],
        "question": [(one.key, one.title.in_language(language)) for one in spec.questions if one.level],
    }


def _scorers(study: Study) -> list[Choice]:
    """By name, which stands for the version that scored last; where there are several, each of them as well."""
    versions = [row.scorer for row in scorers.scored(study).rows]
    names = Counter(scorer.key for scorer in versions)
    several = [scorer for scorer in versions if names[scorer.key] > 1]
    return [
        *((key, title_of(key)) for key in names),
        *((scorer.digest, f"{title_of(scorer.key)} · {scorer.digest[:8]}") for scorer in several),
    ]
