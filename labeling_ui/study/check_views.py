"""The pages of hidden checks: their pools, how raters did on each, and the answer that a task expects."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation import access
from annotation.checks import expected as expectations
from annotation.checks import keys, pools, rules, traps
from annotation.checks.expected import ExpectedAnswer
from annotation.checks.settings import can_pair
from annotation.errors import InvalidInput
from annotation.models import Question, Study, Task
from annotation.protocols.schema import QuestionSpec
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import errors_in_form
from labeling_ui.onboarding.settings_forms import LANGUAGES, explanation_field
from labeling_ui.page_responses import page_cursor
from labeling_ui.templatetags.formatting import in_language

KIND_TITLES: dict[str, Promise] = {
    "gold": gettext_lazy("Gold tasks"),
    "trap": gettext_lazy("Spoken traps"),
    "identical": gettext_lazy("Identical pairs"),
    "repeat": gettext_lazy("Repeated tasks"),
}
SIDES: dict[str, Promise] = {
    "first": gettext_lazy("The first candidate"),
    "second": gettext_lazy("The second candidate"),
    "tie": gettext_lazy("Neither: a tie"),
    "both_bad": gettext_lazy("Neither: both are bad"),
}


class TrapsForm(forms.Form):
    n = forms.IntegerField(
        label=gettext_lazy("How many"), min_value=1, max_value=traps.MOST_AT_ONCE, initial=10
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the voice"),
        choices=[("en", gettext_lazy("English")), ("zh", gettext_lazy("Chinese"))],
    )


class PairsForm(forms.Form):
    n = forms.IntegerField(
        label=gettext_lazy("How many"), min_value=1, max_value=traps.MOST_AT_ONCE, initial=10
    )


@login_required
def hidden_checks(request: HttpRequest, slug: str) -> HttpResponse:
    """The pools, with what makes more of them; then every check with its expected answer and its raters' success."""
    study = access.managed_study(request.user, slug)
    pressed = request.POST.get("make", "")
    traps_form = TrapsForm(request.POST if pressed == "traps" else None, auto_id="traps_%s")
    pairs_form = PairsForm(request.POST if pressed == "pairs" else None, auto_id="pairs_%s")
    if traps_form.is_valid():
        with errors_in_form(traps_form, InvalidInput):
            job = traps.start_traps(study, **traps_form.cleaned_data, actor=request.user)
            return redirect("job", job.pk)
    if pairs_form.is_valid():
        with errors_in_form(pairs_form, InvalidInput):
            made = traps.make_identical(study, n=pairs_form.cleaned_data["n"], actor=request.user)
            text = ngettext("%(n)d identical pair was made.", "%(n)d identical pairs were made.", made)
            messages.success(request, text % {"n": made})
            return redirect("hidden_checks", slug)
    rows = pools.check_tasks(study, after=page_cursor(request))
    context = {
        "study": study,
        "pools": [
            (KIND_TITLES[pool.kind], pool) for pool in pools.pools_of(study) if _is_offered(study, pool.kind)
        ],
        "tasks": rows,
        "next_after": rows[-1].task.pk if len(rows) == pools.TASKS_SHOWN else None,
        "traps_form": traps_form,
        "pairs_form": pairs_form if _is_offered(study, "identical") else None,
        "no_traps": traps.why_no_traps(study),
        "is_on": rules.injection_in(study.rules.get("injection")) is not None,
    }
    return render(request, "labeling_ui/study/checks/hidden_checks.html", context)


def _is_offered(study: Study, kind: str) -> bool:
    return kind != "identical" or can_pair(load_protocol(study.protocol_version_id).spec)


class KeyForm(forms.Form):
    """What one question's answer is expected to be; empty for none."""

    tolerance = forms.FloatField(label=gettext_lazy("Give or take"), min_value=0, required=False)
    explanation_en = explanation_field("en")
    explanation_zh = explanation_field("zh-hans")

    def __init__(self, data: Any, *, question: QuestionSpec, initial: dict[str, Any]) -> None:
        super().__init__(data, prefix=question.key, initial=initial)
        self.question, self.title = question, in_language(question.title)
        offered = expectations.answers_of(question)
        if question.kind == Question.Kind.PREFERENCE:
            named = [(answer, SIDES[answer]) for answer in offered]
        elif question.kind == Question.Kind.CHOICE:
            named = [(option.key, in_language(option.title)) for option in question.options]
        else:
            named = [(answer, answer) for answer in offered]
        common: dict[str, Any] = {"label": gettext_lazy("Expected answer"), "required": False}
        nothing = ("", gettext_lazy("Nothing is expected"))
        self.fields = {
            "answer": forms.ChoiceField(choices=[nothing, *named], **common)
            if named
            else forms.CharField(**common),
            **self.fields,
        }
        if question.kind in (Question.Kind.PREFERENCE, Question.Kind.CHOICE):
            del self.fields["tolerance"]

    @property
    def expected(self) -> ExpectedAnswer:
        values = self.cleaned_data
        return ExpectedAnswer(
            self.question.key,
            values["answer"],
            values.get("tolerance") or 0.0,
            {language: values[f"explanation_{short}"] for language, short in LANGUAGES},
        )


class KindForm(forms.Form):
    kind = forms.ChoiceField(
        label=gettext_lazy("Use it as"),
        choices=[
            ("gold", gettext_lazy("A gold task: a hidden check")),
            ("training", gettext_lazy("A training task: with feedback, before the first task")),
        ],
        widget=forms.RadioSelect,
    )


@login_required
def task_key(request: HttpRequest, slug: str, task_id: int) -> HttpResponse:
    """The answer that a task expects, which makes it a gold or training task."""
    task = access.task_of(request.user, slug, task_id)
    protocol = load_protocol(task.study.protocol_version_id).spec
    current = {
        question.key: {
            "answer": answer,
            "tolerance": key.tolerance or None,
            **{f"explanation_{short}": key.explanation.get(language, "") for language, short in LANGUAGES},
        }
        for question, key, answer in keys.expected_of(task, protocol)
    }
    data = request.POST or None
    forms_ = [
        KeyForm(data, question=question, initial=current.get(question.key, {}))
        for question in expectations.keyed_questions(protocol)
    ]
    is_training = task.kind == Task.Kind.TRAINING
    kind_form = KindForm(data, initial={"kind": "training" if is_training else "gold"})
    valid = [form.is_valid() for form in (kind_form, *forms_)]
    if all(valid):
        expected = [form.expected for form in forms_ if form.cleaned_data["answer"]]
        by_key = {form.question.key: (form, "answer") for form in forms_}
        with errors_in_form(
            kind_form, InvalidInput, place=lambda path: by_key.get(path, (kind_form, "kind"))
        ):
            keys.set_gold(task.study, task, expected, kind=kind_form.cleaned_data["kind"], actor=request.user)
            messages.success(request, _("Saved."))
            return redirect(_item_address(task))
    context = {
        "study": task.study, "task": task, "forms": forms_, "kind_form": kind_form, "back": _item_address(task),
        "candidates": task.slots.select_related("candidate__system").order_by("slot"),
    }  # fmt: skip
    return render(request, "labeling_ui/study/checks/task_key.html", context)


def _item_address(task: Task) -> str:
    address = reverse("item_history", args=[task.study.slug, task.item_version.item_id])
    return f"{address}#task-{task.pk}"
