"""Quality rules of a study with their preview, the actions taken on raters, and the notices that raters get."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_lazy as look_up
from django.views.decorators.cache import never_cache

from analytics.raters import automation, quality
from analytics.raters.rules import PRESETS, QualityRules, from_json, problems_of
from annotation import access
from annotation.errors import InvalidInput
from annotation.models import Rater, RaterAction, Study
from annotation.raters import actions
from labeling_ui.page_responses import action, button, fresh_page, page_cursor, render_page_or_part
from labeling_ui.raters.forms import QualityRulesForm
from labeling_ui.raters.page_data import action_rows, evidence_text, rule_sentence

ACTIONS_PER_PAGE = 50


@login_required
@never_cache
def quality_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Rules are added, removed and taken from presets in the form; nothing is stored before it is saved."""
    study = access.managed_study(request.user, slug)
    rules = QualityRules.of(study.rules)
    form = QualityRulesForm(request.POST if request.method == "POST" else None, rules=rules)
    preset = request.POST.get("preset", "")
    if request.method == "POST" and preset in PRESETS:
        return _render_rules(request, study, _with_preset(form, preset, rules))
    if "add" in request.POST:
        form.is_valid()
        form.add_blank()
    elif _is_saved(request) and form.is_valid():
        try:
            automation.set_rules(study, actor=request.user, **form.values)
        except InvalidInput as error:
            form.show_problems(list(error.problems))
        else:
            messages.success(request, _("Saved. Rules that are on look at the raters’ work within a minute."))
            return redirect("quality_rules", slug)
    return _render_rules(request, study, form)


def _is_saved(request: HttpRequest) -> bool:
    return request.method == "POST" and not any(name.startswith("remove-") for name in request.POST)


def _with_preset(form: QualityRulesForm, preset: str, stored: QualityRules) -> QualityRulesForm:
    """The rules in the form, where they are valid, with those of a preset."""
    rules = stored
    if form.is_valid() and not problems_of({**form.values, "panel": ""}):
        rules = from_json(form.values)
    return QualityRulesForm(None, rules=automation.with_preset(rules, preset))


def _render_rules(request: HttpRequest, study: Study, form: QualityRulesForm) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "presets": [(key, look_up(title)) for key, (title, _rules) in PRESETS.items()],
        "freshness": quality.freshen(study),
        "found": {},
    }
    return render(request, "labeling_ui/raters/rules.html", context)


@action
def quality_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """What the rules in the form would do now, without saving them: a part of the page, or a page of its own."""
    study = access.managed_study(request.user, slug)
    form = QualityRulesForm(request.POST, rules=QualityRules.of(study.rules))
    context: dict[str, Any] = {
        "study": study, "form": form, "found": {}, "freshness": quality.freshen(study),
        "presets": [(key, look_up(title)) for key, (title, _rules) in PRESETS.items()],
    }  # fmt: skip
    if form.is_valid():
        values = form.values
        form.show_problems(problems := problems_of(values))
        if not problems:
            previews = automation.preview(study, from_json(values))
            context["found"] = {
                one.prefix: {
                    "preview": preview,
                    "sentence": rule_sentence(preview.rule),
                    "examples": [(each, evidence_text(each.evidence)) for each in preview.examples],
                }
                for one, preview in zip(form.rules, previews, strict=True)
            }
    return render_page_or_part(request, "raters/rules", "raters/rules_found", context)


@fresh_page
def rater_actions(request: HttpRequest, slug: str) -> HttpResponse:
    """What was done about raters, by rules and by people, the newest first."""
    study = access.managed_study(request.user, slug)
    rows = (
        RaterAction.objects.filter(study=study)
        .select_related("rater", "actor", "reverted_by")
        .order_by("-pk")
    )
    if before := page_cursor(request, "before"):
        rows = rows.filter(pk__lt=before)
    page = list(rows[: ACTIONS_PER_PAGE + 1])
    context = {
        "study": study,
        "rows": action_rows(page[:ACTIONS_PER_PAGE], QualityRules.of(study.rules)),
        "next_before": page[ACTIONS_PER_PAGE - 1].pk if len(page) > ACTIONS_PER_PAGE else None,
    }
    return render(request, "labeling_ui/raters/actions.html", context)


revert_rater_action = button(
    access.rater_action_of, actions.revert, gettext_lazy("Taken back."), to="rater", of="slug pseudonym"
)


@action
def dismiss_notices(request: HttpRequest, slug: str) -> HttpResponse:
    """A rater has read what they were told."""
    rater: Rater = access.rater_of(request.user, slug)
    actions.dismiss_notices(rater)
    onward = request.POST.get("next", "")
    return redirect(onward if onward in ("work", "guidelines", "start") else "work", slug)
