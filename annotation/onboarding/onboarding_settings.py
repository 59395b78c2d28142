"""What a study asks before the rating: changed as one group of settings, with the training tasks in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.db import transaction

from annotation.errors import FieldProblem
from annotation.models import ConsentVersion, Study, Task, User
from annotation.onboarding import consent as consent_texts
from annotation.onboarding.clearing import revoke_clearance
from annotation.onboarding.rules import (
    MAX_OPTIONS,
    MAX_QUESTIONS,
    DemographicQuestion,
    OnboardingRules,
    TrainingRules,
    training_problems,
)
from annotation.studies.settings import validate
from annotation.studies.stored_settings import lock_study, save_settings


def training_tasks(study: Study) -> list[Task]:
    """The training tasks in the order in which raters meet them: as the study lists them, others after these."""
    listed = {pk: place for place, pk in enumerate(OnboardingRules.of(study.rules).tasks)}
    tasks = study.tasks.filter(kind=Task.Kind.TRAINING, state=Task.State.READY).order_by("pk")
    return sorted(tasks, key=lambda task: (listed.get(task.pk, len(listed)), task.pk))


def as_json(study: Study) -> dict[str, Any]:
    """All settings, as `set_onboarding` takes them."""
    settings = OnboardingRules.of(study.rules)
    return {
        "consent": settings.consent,
        "guidelines": settings.guidelines,
        "questions": [_question_as_json(question) for question in settings.questions],
        "training": asdict(settings.training),
        "tasks": list(settings.tasks),
    }


def _question_as_json(question: DemographicQuestion) -> dict[str, Any]:
    return question.stored | {
        "options": [{"key": key, "texts": dict(texts)} for key, texts in question.options]
    }


@transaction.atomic
def set_onboarding(
    study: Study,
    *,
    actor: User | None,
    consent: bool | None = None,
    guidelines: bool | None = None,
    questions: Sequence[Mapping[str, Any]] | None = None,
    training: Mapping[str, Any] | None = None,
    tasks: Sequence[int] | None = None,
) -> Study:
    """Change what a study asks before the rating. What is not named stays as it is.

    Every rater's steps are looked at again before their next task; what they have done holds.
    """
    study = lock_study(study)
    before = OnboardingRules.of(study.rules)
    problems = validate(TrainingRules, training or {})
    after = before
    if not problems:
        after = replace(after, training=replace(before.training, **(training or {})))
        problems += training_problems(after.training, n_tasks=len(training_tasks(study)))
    problems = [replace(problem, field=f"training.{problem.field}") for problem in problems]
    if consent is not None:
        after = replace(after, consent=consent)
    if guidelines is not None:
        after = replace(after, guidelines=guidelines)
    if tasks is not None:
        after = replace(after, tasks=tuple(tasks))
    if questions is not None:
        problems += _question_problems(questions)
        if not problems:
            after = replace(after, questions=tuple(_question(row) for row in questions))
    if after.consent and not study.consent_versions.exists():
        problems.append(FieldProblem("consent", "There is no consent text yet.", "Publish one first."))
    changes = save_settings(
        study, "onboarding", actor=actor, before=before.stored, after=after.stored, problems=problems
    )
    if changes:
        revoke_clearance(study.raters.all())
    return study


@transaction.atomic
def set_consent(
    study: Study, *, on: bool, texts: Mapping[str, str], reconsent: str, actor: User | None
) -> Study:
    """Switch consent on or off; a text that differs from the one in force is published as the next version."""
    current = consent_texts.current_version(study)
    written = consent_texts.written_texts(texts)
    if (on or written) and (current is None or current.texts != written):
        consent_texts.publish_version(study, texts=texts, reconsent=reconsent, actor=actor)
    return set_onboarding(study, actor=actor, consent=on)


def _question(row: Mapping[str, Any]) -> DemographicQuestion:
    options = [(option["key"], option["texts"]) for option in row.get("options", ())]
    return DemographicQuestion.of({**row, "options": options})


def _question_problems(rows: Sequence[Mapping[str, Any]]) -> list[FieldProblem]:
    problems = []
    if len(rows) > MAX_QUESTIONS:
        problems.append(FieldProblem("questions", f"A study asks at most {MAX_QUESTIONS} questions."))
    keys = [str(row.get("key", "")) for row in rows]
    for number, row in enumerate(rows):
        where = f"questions[{number}]"
        if not keys[number] or keys.count(keys[number]) > 1:
            problems.append(
                FieldProblem(f"{where}.key", "Give each question a key that no other question has.")
            )
        if not any(str(text).strip() for text in row.get("texts", {}).values()):
            problems.append(FieldProblem(f"{where}.texts", "Write the question in at least one language."))
        options = row.get("options", ())
        option_keys = [option.get("key") for option in options]
        if len(options) == 1 or len(options) > MAX_OPTIONS:
            problems.append(
                FieldProblem(
                    f"{where}.options",
                    f"Give 2 to {MAX_OPTIONS} options.",
                    "Give none for an answer in one's own words.",
                )
            )
        elif len(set(option_keys)) < len(option_keys) or not all(option_keys):
            problems.append(
                FieldProblem(f"{where}.options", "Give each option a key that no other option has.")
            )
    return problems


@transaction.atomic
def copy_onboarding(source: Study, copy: Study, *, actor: User | None) -> None:
    """Give a copy of a study what the source asks, with its consent text as version 1. The order of training tasks
    stays behind with their ids."""
    settings = replace(OnboardingRules.of(source.rules), tasks=())
    if not settings.is_on:
        return
    text = consent_texts.current_version(source)
    if text is not None:
        ConsentVersion.objects.create(
            study=copy, number=1, texts=text.texts, reconsent=text.reconsent, created_by=actor
        )
    if not training_tasks(copy):
        settings = replace(settings, training=replace(settings.training, required=False, pass_mark=0))
    copy.rules = {**copy.rules, "onboarding": settings.stored}
    copy.save(update_fields=["rules"])
