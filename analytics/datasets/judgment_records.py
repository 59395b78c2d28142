"""Export records of judgments, with their answers and the marks that say whether they count, and of listening checks.

Judgments of withdrawn raters are left out, or come at the end under other names, without what identifies the rater
(`RaterWithdrawal.Mode`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from analytics.data import known_answer_trials
from analytics.datasets.values import Record, grouped, plain_number, utc_text
from annotation.listening.rules.checks import KINDS
from annotation.listening.rules.coverage import read_playback_log, unique_seconds
from annotation.models import (
    Answer,
    Exclusion,
    Judgment,
    ListeningCheck,
    Question,
    RaterWithdrawal,
    Study,
    Task,
    TaskCandidate,
)
from annotation.raters.rules import anonymised_judgment_id
from annotation.rating.rules.answers import shown_choice
from annotation.rating.rules.counterbalancing import candidate_labels


def listening_record(
    telemetry: Mapping[str, Any] | None,
    *,
    gains: Sequence[float | None] | None,
    presentation: Sequence[int] | None,
    layout: str,
) -> dict[str, Any]:
    """`gains_db` and `heard_s` are by position, as in `presentation`; `heard_item_s` is of the item's own clips.

    Seconds are unique coverage: what was heard twice counts once. None where nothing was logged, or nonsense was.
    """
    log = read_playback_log(telemetry)
    told = {} if log.problems or telemetry is None else telemetry
    names = candidate_labels(layout).lower()[: len(presentation or ())]
    heard = {name: plain_number(round(unique_seconds(spans), 2)) for name, spans in log.heard.items()}
    logged = "heard" in told and bool(names)
    return {
        "gains_db": None if gains is None else list(gains),
        "heard_s": [heard.get(name, 0) for name in names] if logged else None,
        "heard_item_s": {name: heard[name] for name in heard if name not in names} if logged else None,
        "switches": log.switches if "switches" in told else None,
        "session_s": _seconds(told.get("session_s")),
    }


def _seconds(value: Any) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return plain_number(float(value)) if 0 <= value < 1e9 else None


Row = Mapping[str, Any]

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
# The cells of a judgment whose rater was anonymised: nothing by which it could be laid beside another of theirs.
_ANONYMISED = {
    "rater__pseudonym": None, "comment": "", "gains": None, "telemetry": None, "assignment__leased_at": None,
    "started_at": None, "submitted_at": None, "assignment__hint_shown": None,
}  # fmt: skip
_WITHOUT_TEXT = {"text": "", "events": None}


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
    marks = {rater: list(found.marks) for rater, found in known_answer_trials.screened_raters(study).items()}
    for batch in chain(_named_judgments(study), _anonymised_judgments(study)):
        slots = _slots({row["task_id"] for row in batch})
        answers = _answers([row["id"] for row in batch])
        reasons = _exclusion_reasons([row["id"] for row in batch if row["excluded"]])
        for row in batch:
            own, hidden = slots[row["task_id"]], _WITHOUT_TEXT if row["rater__withdrawal__mode"] else {}
            yield {
                "study": study.slug,
                **_judgment(row, own, exclusion_reason=reasons.get(row["id"], "")),
                "rater_marks": marks.get(row["rater__pseudonym"], []),
                **listening_record(
                    row["telemetry"],
                    gains=row["gains"],
                    presentation=row["presentation"],
                    layout=layouts[row["protocol_version_id"]],
                ),
                "answers": [
                    _answer({**answer, **hidden}, questions, row["presentation"], own)
                    for answer in answers[row["id"]]
                ],
            }


def _named_judgments(study: Study) -> Iterator[list[Row]]:
    last = 0
    said = Judgment.objects.filter(study=study, rater__withdrawal=None)
    while batch := list(said.filter(pk__gt=last).order_by("pk").values(*_READ)[:BATCH]):
        yield batch
        last = batch[-1]["id"]


def _anonymised_judgments(study: Study) -> Iterator[list[Row]]:
    """In the order of their other names: among their neighbours they would tell when they were said."""
    said = Judgment.objects.filter(study=study, rater__withdrawal__mode=RaterWithdrawal.Mode.ANONYMISED)
    named = said.values_list("pk", "client_id", "rater__withdrawal__salt")
    names = sorted((anonymised_judgment_id(client_id, bytes(salt)), pk) for pk, client_id, salt in named)
    for start in range(0, len(names), BATCH):
        part = names[start : start + BATCH]
        rows = {row["id"]: row for row in said.filter(pk__in=[pk for _, pk in part]).values(*_READ)}
        yield [{**rows[pk], **_ANONYMISED, "client_id": name} for name, pk in part]


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
        "leased_at": utc_text(row["assignment__leased_at"]),
        "started_at": utc_text(row["started_at"]),
        "submitted_at": utc_text(row["submitted_at"]),
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
        "value": plain_number(row["value"]),
        "confidence": plain_number(row["confidence"]),
        "text": row["text"],
        "events": row["events"],
    }


def _slot_of(candidate_id: int | None, slots: Sequence[Slot]) -> int | None:
    if candidate_id is not None:
        return next(i for i, slot in enumerate(slots) if slot.candidate_id == candidate_id)
    return 0 if len(slots) == 1 else None


def _slots(task_ids: Collection[int]) -> Mapping[int, list[Slot]]:
    rows = TaskCandidate.objects.filter(task_id__in=task_ids).order_by("task_id", "slot")
    system = "candidate__system"
    fields = ("task_id", "candidate_id", f"{system}__name", "candidate__take", f"{system}__role")
    return grouped((task_id, Slot(*slot)) for task_id, *slot in rows.values_list(*fields))


def _answers(judgment_ids: Collection[int]) -> Mapping[int, list[Row]]:
    """By judgment, in the order of the protocol's questions."""
    rows = Answer.objects.filter(judgment_id__in=judgment_ids).order_by("question_id", "pk")
    fields = ("judgment_id", "question_id", "candidate_id", "choice", "value", "confidence", "text", "events")
    return grouped((row["judgment_id"], row) for row in rows.values(*fields))


def _exclusion_reasons(judgment_ids: Collection[int]) -> dict[int, str]:
    """The reason of the mark that stands."""
    if not judgment_ids:
        return {}
    rows = Exclusion.objects.filter(judgment_id__in=judgment_ids).order_by("pk")
    return dict(rows.values_list("judgment_id", "reason"))


def check_records(study: Study) -> Iterator[Record]:
    """Finished listening checks, rater by rater, oldest first, without those of withdrawn raters. `n_correct` is None
    where no answer is wrong."""
    runs = ListeningCheck.objects.filter(
        rater__study=study, finished_at__isnull=False, rater__withdrawal=None
    )
    fields = ("rater__pseudonym", "kind", "state", "n_correct", "started_at", "finished_at")
    rows = runs.order_by("rater__pseudonym", "finished_at", "pk").values(*fields)
    for row in rows.iterator(chunk_size=BATCH):
        yield {
            "study": study.slug,
            "rater": row["rater__pseudonym"],
            "check": row["kind"],
            "passed": row["state"] == ListeningCheck.State.PASSED,
            "n_correct": row["n_correct"],
            "n_trials": KINDS[row["kind"]].n_trials,
            "started_at": utc_text(row["started_at"]),
            "finished_at": utc_text(row["finished_at"]),
        }
