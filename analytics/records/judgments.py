"""Every judgment of a study with its answers, and every mark that says whether it counts.

What raters said who have withdrawn is left out, or stands without whatever tells of them (`RaterWithdrawal.Mode`), at
the end and under other names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from analytics.records.listening import listening_record
from analytics.records.plain import number, utc
from analytics.reports import trials
from annotation.models import (
    Answer,
    Exclusion,
    Judgment,
    Question,
    RaterWithdrawal,
    Study,
    Task,
    TaskCandidate,
)
from annotation.rules.anonymity import anonymous_name
from annotation.rules.answers import shown_choice

Row = Mapping[str, Any]
Record = dict[str, Any]

BATCH = 2000
_UNDECIDED = {int(Answer.Choice.TIE): "tie", int(Answer.Choice.BOTH_BAD): "both_bad"}
_READ = (
    "id", "client_id", "task_id", "task__external_id", "task__kind", "task__item_version__number",
    "task__item_version__item__external_id", "rater__pseudonym", "protocol_version__number",
    "protocol_version__preset", "assignment__policy__number", "assignment__inclusion_probability",
    "assignment__leased_at", "started_at", "submitted_at", "origin", "revision", "effective", "excluded", "surplus",
    "presentation", "codes", "comment", "gains", "telemetry", "protocol_version_id", "assignment__hint",
    "assignment__hint_shown", "rater__withdrawal__mode",
)  # fmt: skip
# What is told of a judgment whose rater was anonymised: nothing by which it could be laid beside another of theirs.
_NAMELESS = {
    "rater__pseudonym": None, "comment": "", "gains": None, "telemetry": None, "assignment__leased_at": None,
    "started_at": None, "submitted_at": None, "assignment__hint_shown": None,
}  # fmt: skip
_WORDLESS = {"text": "", "events": None}


@dataclass(frozen=True)
class Slot:
    candidate_id: int
    system: str
    take: int
    role: str


def judgment_records(study: Study) -> Iterator[Record]:
    """In the order in which they were stored, with the superseded, surplus and excluded ones among them; then those of
    the anonymised."""
    questions, layouts = _questions(study)
    marks = {rater: list(found.marks) for rater, found in trials.screened(study).items()}
    for batch in chain(_named(study), _nameless(study)):
        slots = _slots({row["task_id"] for row in batch})
        answers = _answers([row["id"] for row in batch])
        reasons = _exclusion_reasons([row["id"] for row in batch if row["excluded"]])
        for row in batch:
            shown, given = slots[row["task_id"]], answers[row["id"]]
            yield {
                "study": study.slug,
                **_judgment(row, shown, exclusion_reason=reasons.get(row["id"], "")),
                "rater_marks": marks.get(row["rater__pseudonym"], []),
                **listening_record(
                    row["telemetry"],
                    gains=row["gains"],
                    presentation=row["presentation"],
                    layout=layouts[row["protocol_version_id"]],
                ),
                "answers": [
                    _answer(
                        {**answer, **_WORDLESS} if row["rater__withdrawal__mode"] else answer,
                        questions,
                        row["presentation"],
                        shown,
                    )
                    for answer in given
                ],
            }


def _named(study: Study) -> Iterator[list[Row]]:
    last = 0
    said = Judgment.objects.filter(study=study, rater__withdrawal=None)
    while batch := list(said.filter(pk__gt=last).order_by("pk").values(*_READ)[:BATCH]):
        yield batch
        last = batch[-1]["id"]


def _nameless(study: Study) -> Iterator[list[Row]]:
    """In the order of their other names: among their neighbours they would tell when they were said."""
    said = Judgment.objects.filter(study=study, rater__withdrawal__mode=RaterWithdrawal.Mode.ANONYMISED)
    named = said.values_list("pk", "client_id", "rater__withdrawal__salt")
    names = sorted((anonymous_name(client_id, bytes(salt)), pk) for pk, client_id, salt in named)
    for start in range(0, len(names), BATCH):
        part = names[start : start + BATCH]
        rows = {row["id"]: row for row in said.filter(pk__in=[pk for _, pk in part]).values(*_READ)}
        yield [{**rows[pk], **_NAMELESS, "client_id": name} for name, pk in part]


def _questions(study: Study) -> tuple[dict[int, str], dict[int, str]]:
    """The key of each question, and the layout of each protocol version."""
    asked = Question.objects.filter(protocol_version__study=study)
    rows = list(asked.values_list("pk", "key", "protocol_version_id", "protocol_version__definition__layout"))
    return {row[0]: row[1] for row in rows}, {row[2]: row[3] for row in rows}


def _judgment(row: Row, slots: Sequence[Slot], *, exclusion_reason: str) -> Record:
    return {
        "item": row["task__item_version__item__external_id"],
        "item_version": row["task__item_version__number"],
        "task": row["task__external_id"],
        "task_kind": Task.Kind(row["task__kind"]).name.lower(),
        "systems": [slot.system for slot in slots],
        "takes": [slot.take for slot in slots],
        "roles": [slot.role for slot in slots],
        "presentation": row["presentation"],
        "client_id": str(row["client_id"]),
        "rater": row["rater__pseudonym"] or "",
        "origin": Judgment.Origin(row["origin"]).name.lower(),
        "revision": row["revision"],
        "effective": row["effective"],
        "excluded": row["excluded"],
        "exclusion_reason": exclusion_reason,
        "surplus": row["surplus"],
        "protocol_version": row["protocol_version__number"],
        "preset": row["protocol_version__preset"],
        "codes": row["codes"],
        "comment": row["comment"],
        "hint": row["assignment__hint"],
        "hint_shown": row["assignment__hint_shown"],
        "ordering_policy": row["assignment__policy__number"],
        "inclusion_probability": row["assignment__inclusion_probability"],
        "leased_at": utc(row["assignment__leased_at"]),
        "started_at": utc(row["started_at"]),
        "submitted_at": utc(row["submitted_at"]),
    }


def _answer(
    row: Row, questions: Mapping[int, str], presentation: Sequence[int] | None, slots: Sequence[Slot]
) -> Record:
    """`slot` and `system` say what the answer is about: a candidate, or None for the task as a whole.

    `choice` names the preferred system, `choice_slot` which of the task's candidates that is (both may be of one
    system), `choice_shown` the side that the rater saw it on; None where an import does not tell.
    """
    choice, slot = row["choice"], _slot_of(row["candidate_id"], slots)
    preferred = choice - 1 if choice in (Answer.Choice.FIRST, Answer.Choice.SECOND) else None
    return {
        "question": questions[row["question_id"]],
        "slot": slot,
        "system": None if slot is None else slots[slot].system,
        "choice": _UNDECIDED.get(choice) if preferred is None else slots[preferred].system,
        "choice_slot": preferred,
        "choice_shown": None if choice is None or not presentation else shown_choice(choice, presentation),
        "value": number(row["value"]),
        "confidence": number(row["confidence"]),
        "text": row["text"],
        "events": row["events"],
    }


def _slot_of(candidate_id: int | None, slots: Sequence[Slot]) -> int | None:
    if candidate_id is not None:
        return next(i for i, slot in enumerate(slots) if slot.candidate_id == candidate_id)
    return 0 if len(slots) == 1 else None


def _slots(task_ids: Collection[int]) -> Mapping[int, list[Slot]]:
    found: defaultdict[int, list[Slot]] = defaultdict(list)
    rows = TaskCandidate.objects.filter(task_id__in=task_ids).order_by("task_id", "slot")
    system = "candidate__system"
    fields = ("task_id", "candidate_id", f"{system}__name", "candidate__take", f"{system}__role")
    for task_id, candidate_id, name, take, role in rows.values_list(*fields):
        found[task_id].append(Slot(candidate_id, name, take, role))
    return found


def _answers(judgment_ids: Collection[int]) -> Mapping[int, list[Row]]:
    """By judgment, in the order of the protocol's questions."""
    found: defaultdict[int, list[Row]] = defaultdict(list)
    rows = Answer.objects.filter(judgment_id__in=judgment_ids).order_by("question_id", "pk")
    fields = ("judgment_id", "question_id", "candidate_id", "choice", "value", "confidence", "text", "events")
    for row in rows.values(*fields):
        found[row["judgment_id"]].append(row)
    return found


def _exclusion_reasons(judgment_ids: Collection[int]) -> dict[int, str]:
    """The reason of the mark that stands."""
    if not judgment_ids:
        return {}
    rows = Exclusion.objects.filter(judgment_id__in=judgment_ids).order_by("pk")
    return dict(rows.values_list("judgment_id", "reason"))
