"""What raters and experts said of versions of one item, and which of it was set aside: rows for an item's timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from annotation.models import Answer, Exclusion, ItemVersion, Judgment, TaskCandidate
from annotation.services.rater_withdrawals import without_withdrawn

# A timeline shows this many of an item's votes; the rest is in the export.
MOST_VOTES = 400


@dataclass(frozen=True)
class GivenAnswer:
    """`said` is a choice by name (`first`, `second`, `tie`, `both_bad`), a number or a text; `system` is the one that
    a rating is about or that a preference is for."""

    question: str
    said: str | float
    confidence: float | None
    system: str


@dataclass(frozen=True)
class Vote:
    at: datetime
    version: int
    task: str
    who: str
    answers: tuple[GivenAnswer, ...]
    codes: tuple[str, ...]
    comment: str
    revision: int
    stands: bool
    excluded: bool
    surplus: bool
    is_blind: bool


@dataclass(frozen=True)
class SetAside:
    """One judgment set aside or restored: `action` is `excluded` or `restored`."""

    at: datetime
    action: str
    version: int
    who: str
    reason: str


def votes(versions: Sequence[ItemVersion]) -> tuple[list[Vote], int]:
    """The first `MOST_VOTES` judgments about versions of an item in the order in which they came, and how many more
    there are. Four queries."""
    numbers = {version.pk: version.number for version in versions}
    about = without_withdrawn(Judgment.objects.filter(task__item_version__in=numbers))
    judgments = list(about.select_related("rater__user", "task").order_by("submitted_at", "pk")[:MOST_VOTES])
    left_out = max(0, about.count() - MOST_VOTES)
    answers = _answers([judgment.pk for judgment in judgments], _slots(judgments))
    found = [_vote(one, numbers[one.task.item_version_id], answers.get(one.pk, [])) for one in judgments]
    return found, left_out


def set_aside(versions: Sequence[ItemVersion]) -> Iterable[SetAside]:
    numbers = {version.pk: version.number for version in versions}
    marks = without_withdrawn(
        Exclusion.objects.filter(judgment__task__item_version__in=numbers), by="judgment__rater"
    )
    for mark in marks.select_related("judgment__task", "actor").order_by("created_at", "pk"):
        action = "excluded" if mark.action == Exclusion.Action.EXCLUDE else "restored"
        version = numbers[mark.judgment.task.item_version_id]
        yield SetAside(mark.created_at, action, version, str(mark.actor or ""), mark.reason)


def _vote(judgment: Judgment, version: int, answers: Sequence[GivenAnswer]) -> Vote:
    is_blind = judgment.origin == Judgment.Origin.EXPERT
    rater = judgment.rater
    # Experts sign what they do to an item by their names, raters by their pseudonyms.
    who = "" if rater is None else str(rater.user or rater.pseudonym) if is_blind else rater.pseudonym
    return Vote(
        at=judgment.submitted_at,
        version=version,
        task=judgment.task.external_id,
        who=who,
        answers=tuple(answers),
        codes=tuple(judgment.codes),
        comment=judgment.comment,
        revision=judgment.revision,
        stands=judgment.effective,
        excluded=judgment.excluded,
        surplus=judgment.surplus,
        is_blind=is_blind,
    )


def _slots(judgments: Iterable[Judgment]) -> dict[tuple[int, int], str]:
    """The system in each slot of the tasks that were judged."""
    slots = TaskCandidate.objects.filter(task__in={judgment.task_id for judgment in judgments})
    rows = slots.values_list("task_id", "slot", "candidate__system__name")
    return {(task, slot): name for task, slot, name in rows}


def _answers(judgments: Sequence[int], slots: Mapping[tuple[int, int], str]) -> dict[int, list[GivenAnswer]]:
    found: dict[int, list[GivenAnswer]] = {}
    answers = Answer.objects.filter(judgment__in=judgments).select_related("question", "candidate__system")
    for answer in answers.order_by("pk"):
        found.setdefault(answer.judgment_id, []).append(_given(answer, slots))
    return found


def _given(answer: Answer, slots: Mapping[tuple[int, int], str]) -> GivenAnswer:
    key, confidence = answer.question.key, answer.confidence
    if answer.choice is not None:
        system = slots.get((answer.task_id, answer.choice - 1), "") if answer.choice <= 2 else ""
        return GivenAnswer(key, Answer.Choice(answer.choice).name.lower(), confidence, system)
    system = answer.candidate.system.name if answer.candidate else slots.get((answer.task_id, 0), "")
    said = answer.value if answer.value is not None else answer.text
    return GivenAnswer(key, said, confidence, system)
