"""Payments: what each participant did in each batch, and what a researcher is advised to pay, as rows and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from annotation.csv_escaping import csv_lines
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Place, Study, Task, User
from annotation.panels.rules import advice
from annotation.studies import audit

# A longer pause between two answers is no time at work.
MAX_PAUSE_SECONDS = 300
MAX_BONUS = Decimal(10_000)

# Time at work: from the beginning to the first answer and from each to the next, pauses cut to the most.
_WORK = """
SELECT p.id, count(j.id) FILTER (WHERE NOT j.is_training),
       count(j.id) FILTER (WHERE NOT j.is_training AND NOT j.excluded),
       coalesce(sum(least(extract(epoch FROM j.submitted_at - coalesce(j.before, p.started_at)), %(pause)s))
                FILTER (WHERE j.id IS NOT NULL), 0)
FROM annotation_place p
LEFT JOIN LATERAL (
    SELECT v.id, v.excluded, v.submitted_at, t.kind = %(training)s AS is_training,
           lag(v.submitted_at) OVER (ORDER BY v.submitted_at, v.id) AS before
    FROM annotation_judgment v JOIN annotation_task t ON t.id = v.task_id
    WHERE v.rater_id = p.participant_id AND v.revision = 1 AND v.submitted_at >= p.started_at
      AND (p.ended_at IS NULL OR v.submitted_at <= p.ended_at)
) j ON true
WHERE p.id = ANY(%(places)s)
GROUP BY p.id
"""


@dataclass(frozen=True)
class Payment:
    """One batch of one participant. `minutes_at_work` leaves pauses out; `answers` are those to checks too, without
    training, and `accepted` those of them that nobody excluded; `checks` and `checks_failed` are of gold tasks, traps
    and repeats."""

    participant: str
    rater: str
    link: str
    panel: str
    batch: int
    state: str
    started_at: datetime
    ended_at: datetime | None
    minutes: float
    minutes_at_work: float
    answers: int
    accepted: int
    checks: int
    checks_failed: int
    advice: str
    reward: Decimal | None
    bonus: Decimal
    currency: str
    note: str
    parameters: Mapping[str, str]
    place: int


COLUMNS = tuple(field.name for field in fields(Payment))


def places_of(study: Study) -> QuerySet[Place]:
    """The batches of a study's participants in the order in which they began, tests left out."""
    rows = Place.objects.filter(link__study=study, participant__is_test=False)
    return rows.select_related("link", "participant__rater").order_by("pk")


def of_places(places: Sequence[Place]) -> list[Payment]:
    """What was done in each of these, in two queries."""
    return list(_payments(places))


def _payments(places: Sequence[Place]) -> Iterator[Payment]:
    ids = [place.pk for place in places]
    with connection.cursor() as cursor:
        cursor.execute(
            _WORK, {"places": ids, "pause": MAX_PAUSE_SECONDS, "training": Task.Kind.TRAINING.value}
        )
        work = {
            pk: (answers, accepted, float(seconds)) for pk, answers, accepted, seconds in cursor.fetchall()
        }
    checks = _checks(ids)
    for place in places:
        answers, accepted, seconds = work[place.pk]
        n_checks, n_failed, n_attention_failed = checks.get(place.pk, (0, 0, 0))
        ended = place.ended_at or place.last_seen_at
        minutes = max(0.0, (ended - place.started_at).total_seconds() / 60)
        yield Payment(
            participant=place.participant.external_id,
            rater=place.participant.rater.pseudonym,
            link=place.link.name,
            panel=place.link.panel,
            batch=place.number,
            state=place.state,
            started_at=place.started_at,
            ended_at=place.ended_at,
            minutes=round(minutes, 1),
            minutes_at_work=round(seconds / 60, 1),
            answers=answers,
            accepted=accepted,
            checks=n_checks,
            checks_failed=n_failed,
            advice=advice(
                place.link.panel,
                place.state,
                minutes=minutes,
                failed_attention_checks=n_attention_failed,
                judgments=answers,
            ),
            reward=place.link.reward,
            bonus=place.bonus,
            currency=place.link.currency,
            note=place.note,
            parameters=place.parameters,
            place=place.pk,
        )


_CHECKS = f"""
SELECT p.id, count(*), count(*) FILTER (WHERE o.passed IS FALSE),
       count(*) FILTER (WHERE o.passed IS FALSE AND o.kind IN ({Task.Kind.GOLD:d}, {Task.Kind.TRAP:d}))
FROM annotation_place p JOIN annotation_checkoutcome o ON o.rater_id = p.participant_id
WHERE p.id = ANY(%s) AND o.kind <> {Task.Kind.TRAINING:d} AND o.created_at >= p.started_at
  AND (p.ended_at IS NULL OR o.created_at <= p.ended_at)
GROUP BY p.id
"""


def _checks(ids: list[int]) -> dict[int, tuple[int, int, int]]:
    """(checks, failed, attention checks failed) by place. Training tasks are practice, not checks."""
    with connection.cursor() as cursor:
        cursor.execute(_CHECKS, [ids])
        return {pk: (n, failed, attention) for pk, n, failed, attention in cursor.fetchall()}


def as_csv(rows: Iterable[Payment]) -> str:
    """One line for each batch; a column for each parameter that a link recorded."""
    rows = list(rows)
    recorded = sorted({name for row in rows for name in row.parameters})
    own = [name for name in COLUMNS if name not in ("parameters", "place")]
    lines = [[*own, *recorded]]
    for row in rows:
        lines.append(
            [
                *(_cell(getattr(row, name)) for name in own),
                *(row.parameters.get(name, "") for name in recorded),
            ]
        )
    return "".join(csv_lines(lines))


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return "" if value is None else str(value)


@transaction.atomic
def set_bonus(place: Place, *, actor: User, bonus: Decimal, note: str = "") -> Place:
    """What a participant gets beside the reward, and why. It is a line of the table: the panel pays it."""
    problems = []
    if not 0 <= bonus <= MAX_BONUS:
        problems.append(FieldProblem("bonus", f"Give an amount from 0 to {MAX_BONUS}."))
    if len(note) > 300:
        problems.append(FieldProblem("note", "Write at most 300 characters."))
    if problems:
        raise InvalidInput("This bonus cannot be stored.", problems=problems)
    before, place.bonus, place.note = place.bonus, bonus, note.strip()
    place.save(update_fields=["bonus", "note"])
    audit.record(
        "panel.bonus_set", actor=actor, study=place.link.study, subject=place.participant.rater.pseudonym,
        batch=place.number, before=str(before), after=str(bonus),
    )  # fmt: skip
    return place
