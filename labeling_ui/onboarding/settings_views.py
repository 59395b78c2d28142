"""“Before rating” among a study's settings: what raters do first, the training tasks, and a preview of the path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation import access
from annotation.checks import keys
from annotation.csv_escaping import csv_lines
from annotation.errors import DomainError, InvalidInput
from annotation.listening.rules.checks import CheckRules
from annotation.models import ListeningCheck, Study, Task
from annotation.onboarding import demographics, path, training
from annotation.onboarding.rules import OnboardingRules
from labeling_ui.domain_errors import add_form_errors, errors_as_messages, errors_in_form
from labeling_ui.onboarding import views as rater_views
from labeling_ui.onboarding.forms import DemographicsForm, wording
from labeling_ui.onboarding.settings_forms import PARTS, TrainingTaskForm
from labeling_ui.onboarding.training_page import described_tasks
from labeling_ui.page_responses import action, attachment, fresh_page


@login_required
def before_rating(request: HttpRequest, slug: str) -> HttpResponse:
    """Each part is a form of its own; the one that was sent is shown again with its errors."""
    study = access.managed_study(request.user, slug)
    part = request.POST.get("part", "")
    forms: dict[str, Any] = {
        key: form(request.POST if key == part else None, study=study) for key, form in PARTS.items()
    }
    if part in forms and forms[part].is_valid():
        try:
            forms[part].save(study, actor=request.user)
        except InvalidInput as error:
            add_form_errors(forms[part], error, place=lambda name: (forms[part], name.rpartition(".")[2]))
        else:
            messages.success(request, _("Saved."))
            return redirect("before_rating", slug)
    return render(request, "labeling_ui/onboarding/settings.html", _settings_context(study, forms))


def _settings_context(study: Study, forms: dict[str, Any]) -> dict[str, Any]:
    checks = CheckRules.of(study.rules).require
    return {
        "study": study,
        "forms": forms,
        "versions": study.consent_versions.order_by("-number")[:20],
        "checks": [ListeningCheck.Kind(kind).label for kind in checks],
        "training_tasks": list(described_tasks(study)),
        "progress": path.step_counts(study),
        "counts": [
            (wording(each.question.texts), each.n, _cells(each))
            for each in demographics.answer_counts(study)
            if each.n
        ],
    }


def _cells(counts: demographics.AnswerCounts) -> list[tuple[str, int | None]]:
    """Cells in the order of the options, with their wording; None where too few to show."""
    words = {key: wording(texts) for key, texts in counts.question.options}
    words["prefer_not_to_say"] = _("Prefer not to say")
    known = [(words[key], counts.cells[key]) for key in words if key in counts.cells]
    return known + [(key, n) for key, n in counts.cells.items() if key not in words]


@fresh_page
def preview_path(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole path as a rater sees it, one step after another. Nothing that is pressed here is stored."""
    study = access.managed_study(request.user, slug)
    onboarding = OnboardingRules.of(study.rules)
    steps = path.preview_steps(study)
    cards = []
    for number, step in enumerate(steps, start=1):
        shown = rater_views.shown_steps(
            [*(replace(each, state="done") for each in steps[: number - 1]), *steps[number - 1 :]]
        )
        card = {"study": study, "steps": shown, "current": shown[number - 1], "number": number}
        if step.key == "demographics":
            card["form"] = DemographicsForm(questions=onboarding.questions)
        cards.append(card | rater_views.step_context(study, step.key))
    return render(request, "labeling_ui/onboarding/preview.html", {"study": study, "cards": cards})


@action
def order_training(request: HttpRequest, slug: str) -> HttpResponse:
    """Move a training task up or down, or out of the training."""
    study = access.managed_study(request.user, slug)
    task = request.POST.get("task", "")
    with errors_as_messages(request, DomainError):
        training.move_task(
            study,
            int(task) if task.isdecimal() and len(task) < 19 else 0,
            to=request.POST.get("to", ""),
            actor=request.user,
        )
    return redirect("before_rating", slug)


@fresh_page
def find_training_task(request: HttpRequest, slug: str) -> HttpResponse:
    """By the name of a task, or of an item: where its expected answers are set, which makes it a training task."""
    study = access.managed_study(request.user, slug)
    name = request.GET.get("name", "").strip()[:300]
    tasks = study.tasks.exclude(state=Task.State.WITHDRAWN).order_by("pk")
    named = tasks.filter(external_id=name) or tasks.filter(item_version__item__external_id=name)
    if (task := named.first()) is None:
        messages.error(request, _("There is no task or item named “%(name)s”.") % {"name": name})
        return redirect("before_rating", slug)
    return redirect("training_task", slug, task.pk)


@login_required
def training_task(request: HttpRequest, slug: str, task_id: int) -> HttpResponse:
    """What a training task expects of each question, and why. Another task becomes one by this."""
    task = access.task_of(request.user, slug, task_id)
    form = TrainingTaskForm(request.POST or None, study=task.study, task=task)
    if form.is_valid():
        with errors_in_form(form, InvalidInput, place=lambda name: (form, f"{name}.answer")):
            keys.set_gold(task.study, task, form.expected(), actor=request.user, kind="training")
            messages.success(request, _("Saved."))
            return redirect("before_rating", slug)
    version = task.item_version
    context = {"study": task.study, "task": task, "version": version, "form": form}
    return render(request, "labeling_ui/onboarding/training_task.html", context)


@fresh_page
def demographics_file(request: HttpRequest, slug: str) -> HttpResponse:
    """Raters' answers about themselves by pseudonym, for those who run the study. The log has who took it."""
    study = access.managed_study(request.user, slug)
    answered = demographics.export(study, actor=request.user)
    if not answered:
        raise Http404
    keys = list(dict.fromkeys(key for row in answered for key in row["answers"]))
    rows: list[list[str]] = [["rater", *keys, "answered_at"]]
    for row in answered:
        answers = [row["answers"].get(key, "") for key in keys]
        rows.append([row["rater"], *answers, row["answered_at"].isoformat()])
    return attachment("".join(csv_lines(rows)), name=f"{slug}-raters.csv", content_type="text/csv")


@action
def delete_all_demographics(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    n = demographics.delete_all_answers(study, actor=request.user)
    messages.success(request, _("Deleted the answers of %(n)d raters.") % {"n": n})
    return redirect("before_rating", slug)


# ── One rater ──────────────────────────────────────────────────────────────────


@action
def train_again(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
    with errors_as_messages(request, DomainError):
        training.require_again(rater, actor=request.user, reason=request.POST.get("reason", "")[:200])
        messages.success(request, _("Training is due before their next task."))
    return redirect("rater", slug, pseudonym)


@action
def delete_rater_demographics(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
    demographics.delete_answers(rater, actor=request.user)
    messages.success(request, _("Their answers about themselves are deleted."))
    return redirect("rater", slug, pseudonym)
