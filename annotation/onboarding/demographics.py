"""Demographics: raters' answers about themselves, apart from their judgments; deleted at a word of theirs or of those
who run the study, and shown to others only as counts of at least five raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.errors import InvalidInput
from annotation.models import Demographics, Rater, Study, User
from annotation.onboarding.clearing import lock_participant, lock_rater, revoke_clearance
from annotation.onboarding.rules import (
    PREFER_NOT_TO_SAY,
    DemographicQuestion,
    OnboardingRules,
    check_demographics,
    suppress_small_cells,
)
from annotation.studies import audit


def is_answered(rater: Rater, questions: Iterable[DemographicQuestion]) -> bool:
    """Every required question has an answer, and optional ones were shown once."""
    answers = Demographics.objects.filter(rater=rater).values_list("answers", flat=True).first()
    return answers is not None and all(answers.get(each.key) for each in questions if each.required)


@transaction.atomic
def save_answers(rater: Rater, *, answers: Mapping[str, str]) -> Demographics:
    """Store a rater's answers in place of the earlier ones. Raises InvalidInput with every problem."""
    rater = lock_participant(rater)
    given = {key: answer.strip() for key, answer in answers.items() if answer.strip()}
    questions = OnboardingRules.of(rater.study.rules).questions
    if problems := check_demographics(questions, given):
        raise InvalidInput("Some answers are missing or cannot be used.", problems=problems)
    row, _new = Demographics.objects.update_or_create(rater=rater, defaults={"answers": given})
    audit.record("demographics.saved", actor=None, study=rater.study, subject=rater.pseudonym)
    return row


@transaction.atomic
def delete_answers(rater: Rater, *, actor: User | None) -> None:
    """Delete a rater's answers. They are asked again before their next task where the study requires an answer."""
    rater = lock_rater(rater)
    deleted, _by_table = Demographics.objects.filter(rater=rater).delete()
    if deleted:
        revoke_clearance([rater])
        audit.record("demographics.deleted", actor=actor, study=rater.study, subject=rater.pseudonym)


@transaction.atomic
def delete_all_answers(study: Study, *, actor: User | None) -> int:
    """Delete the answers of all raters of a study. Returns of how many."""
    deleted, _by_table = Demographics.objects.filter(rater__study=study).delete()
    if deleted:
        audit.record("demographics.deleted", actor=actor, study=study, subject="all raters", raters=deleted)
    return deleted


def groups(study: Study, pseudonyms: Collection[str]) -> Iterator[tuple[DemographicQuestion, dict[str, str]]]:
    """By question with options, the option that each of these raters chose, by pseudonym: groups that are large enough
    to show among these raters, and no others."""
    questions = OnboardingRules.of(study.rules).questions
    if not questions:
        return
    stored = dict(
        Demographics.objects.filter(rater__study=study, rater__pseudonym__in=pseudonyms)
        .exclude(rater__state=Rater.State.WITHDRAWN)
        .order_by("rater__pseudonym")
        .values_list("rater__pseudonym", "answers")
    )
    for question in questions:
        chosen = {
            rater: answers[question.key] for rater, answers in stored.items() if question.key in answers
        }
        # Whoever did not answer is a group, too: of it, another's size would follow.
        counts = Counter(chosen.get(rater, "") for rater in pseudonyms)
        shown = {key for key, n in suppress_small_cells(counts).items() if n is not None}
        if question.options and shown:
            yield question, {rater: key for rater, key in chosen.items() if key in shown}


@dataclass(frozen=True)
class AnswerCounts:
    """How many raters gave each answer, None where the cell is too small to show; `n`: raters who answered."""

    question: DemographicQuestion
    n: int
    cells: Mapping[str, int | None]


def answer_counts(study: Study) -> list[AnswerCounts]:
    """By question, over raters who have not withdrawn. Free texts are counted without regard to case."""
    stored = list(
        Demographics.objects.filter(rater__study=study)
        .exclude(rater__state=Rater.State.WITHDRAWN)
        .values_list("answers", flat=True)
    )
    counts = []
    for question in OnboardingRules.of(study.rules).questions:
        given = [answers[question.key] for answers in stored if answers.get(question.key)]
        words = given if question.options else [_folded(answer) for answer in given]
        counts.append(AnswerCounts(question, len(given), suppress_small_cells(Counter(words))))
    return counts


def _folded(text: str) -> str:
    return text if text == PREFER_NOT_TO_SAY else " ".join(text.split()).casefold()


def answers_of(rater: Rater) -> dict[str, str] | None:
    """A rater's own answers, for themselves alone; None where they gave none, or deleted them."""
    return Demographics.objects.filter(rater=rater).values_list("answers", flat=True).first()


def export(study: Study, *, actor: User | None) -> list[dict[str, Any]]:
    """Raters' answers by pseudonym, for those who run the study. Nothing else gives them out, and the log has who took
    them."""
    rows = (
        Demographics.objects.filter(rater__study=study)
        .exclude(rater__state=Rater.State.WITHDRAWN)
        .order_by("rater__pseudonym")
        .values_list("rater__pseudonym", "answers", "answered_at")
    )
    table: list[dict[str, Any]] = [
        {"rater": pseudonym, "answers": answers, "answered_at": at} for pseudonym, answers, at in rows
    ]
    if table:
        audit.record("demographics.exported", actor=actor, study=study, raters=len(table))
    return table
