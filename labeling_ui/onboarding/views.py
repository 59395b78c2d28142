"""A rater's start page: the steps before the rating, one at a time, and why each is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from annotation import access
from annotation.errors import Conflict, InvalidInput
from annotation.models import Rater
from annotation.onboarding import consent, demographics, path, training
from annotation.onboarding.onboarding_settings import training_tasks
from annotation.onboarding.path import Step
from annotation.onboarding.rules import OnboardingRules, needed_to_pass
from annotation.raters.actions import open_notices
from labeling_ui.domain_errors import errors_as_messages, errors_in_form
from labeling_ui.onboarding.forms import DemographicsForm
from labeling_ui.page_responses import View, action, fresh_page
from labeling_ui.panels.participant_views import page_of_ended_batch
from labeling_ui.raters.notices import shown_notices

# Of each step its title, and why it is there.
STEP_TEXTS: dict[str, tuple[Promise, Promise]] = {
    "consent": (gettext_lazy("Consent"), gettext_lazy("You decide freely whether you take part.")),
    "demographics": (
        gettext_lazy("About you"),
        gettext_lazy("Results are easier to judge when readers know who was asked."),
    ),
    "guidelines": (
        gettext_lazy("Guidelines"),
        gettext_lazy("They say what to listen for, and how to answer."),
    ),
    "checks": (
        gettext_lazy("Listening checks"),
        gettext_lazy("They confirm that you can hear the clips well."),
    ),
    "training": (
        gettext_lazy("Training"),
        gettext_lazy("You practise on a few examples, and see after each what was expected."),
    ),
}


@dataclass(frozen=True)
class ShownStep:
    """A step in the list: `place` is done, now or later."""

    step: Step
    title: Promise
    why: Promise
    place: str


def shown_steps(steps: list[Step]) -> list[ShownStep]:
    current = next((step for step in steps if not step.is_done), None)
    return [
        ShownStep(
            step, *STEP_TEXTS[step.key], "done" if step.is_done else "now" if step is current else "later"
        )
        for step in steps
    ]


@fresh_page
def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Every step with where the rater stands, and the one that is next. Without steps it leads to the work."""
    rater = access.rater_of(request.user, slug)
    if request.user.session_only and (page := page_of_ended_batch(rater)):
        return redirect(page)
    if not path.steps(rater):
        return redirect("work", slug)
    return render_start(request, start_context(rater))


def render_start(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The start page; a panel's participant has no list of studies to go back to, and leaves by the panel."""
    if request.user.session_only:
        context["way_back"] = "take_part"
        if context["current"] and context["current"].step.ends_participation:
            context["exit_url"] = reverse("take_part_finish")
    return render(request, "labeling_ui/onboarding/start.html", context, status=status)


def start_context(rater: Rater, *, form: DemographicsForm | None = None) -> dict[str, Any]:
    path.look_again(rater)
    shown = shown_steps(path.steps(rater))
    number, current = next(
        ((number, each) for number, each in enumerate(shown, start=1) if each.place == "now"), (0, None)
    )
    settings = OnboardingRules.of(rater.study.rules)
    context: dict[str, Any] = {
        "study": rater.study,
        "rater": rater,
        "notices": shown_notices(open_notices(rater)),
        "steps": shown,
        "current": current,
        "number": number,
        "n_done": sum(each.place == "done" for each in shown),
        "answers": demographics.answers_of(rater) if settings.questions else None,
        "decision": consent.latest_decision(rater) if settings.consent else None,
    }
    if form is not None or (current and current.step.key == "demographics"):
        answers = context["answers"]
        context["form"] = form or DemographicsForm(questions=settings.questions, answers=answers)
    return context | step_context(rater.study, current.step.key if current else "")


def step_context(study: Any, key: str) -> dict[str, Any]:
    """What the card of one step shows of the study."""
    if key == "consent":
        version = consent.current_version(study)
        assert version is not None  # consent cannot be switched on without one
        language = consent.language_of(version, get_language() or "en")
        return {"version": version, "text": version.texts[language], "text_language": language}
    if key == "training":
        n_tasks = len(training_tasks(study))
        needed = needed_to_pass(OnboardingRules.of(study.rules).training, n_tasks)
        return {"n_training": n_tasks, "needed": needed}
    return {}


@action
def decide_consent(request: HttpRequest, slug: str) -> HttpResponse:
    """A rater accepts or declines the version that was on their page."""
    rater = access.rater_of(request.user, slug)
    version = request.POST.get("version", "")
    with errors_as_messages(request, Conflict):
        consent.decide(
            rater,
            version=int(version) if version.isdecimal() and len(version) < 10 else 0,
            accepted=request.POST.get("decision") == "accept",
            language=get_language() or "en",
        )
    return redirect("start", slug)


def start_action(view: View) -> View:
    """An action that shows the start page itself. Its address comes back by GET from there: after another language was
    chosen, or from the history."""
    act = action(view)

    def press(request: HttpRequest, slug: str) -> HttpResponse:
        return act(request, slug) if request.method == "POST" else redirect("start", slug)

    return press


@start_action
def reconsider_consent(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the text again to somebody who declined it."""
    rater = access.rater_of(request.user, slug)
    context = start_context(rater) | step_context(rater.study, "consent") | {"reconsiders": True}
    return render_start(request, context)


@start_action
def save_demographics(request: HttpRequest, slug: str) -> HttpResponse:
    rater = access.rater_of(request.user, slug)
    form = DemographicsForm(request.POST, questions=OnboardingRules.of(rater.study.rules).questions)
    if form.is_valid():
        with errors_in_form(form, InvalidInput):
            demographics.save_answers(rater, answers=form.answers)
            return redirect("start", slug)
    return render_start(request, start_context(rater, form=form), status=400)


@action
def delete_demographics(request: HttpRequest, slug: str) -> HttpResponse:
    rater = access.rater_of(request.user, slug)
    demographics.delete_answers(rater, actor=request.user)
    messages.success(request, _("Your answers about yourself are deleted."))
    return redirect("start", slug)


@action
def start_training(request: HttpRequest, slug: str) -> HttpResponse:
    """Begin the training, or go on with it, on the workbench."""
    rater = access.rater_of(request.user, slug)
    with errors_as_messages(request, Conflict):
        training.start_run(rater)
        return redirect("work", slug)
    return redirect("start", slug)
