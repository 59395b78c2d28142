"""Webhook events (outbox): the audit log and judgments of a study, read on from where each webhook stands.

Whoever rates pays nothing for it: nothing is written when a vote is. The log and the judgments are read by their ids,
and ids are given out before they are committed, so the newest are read again until every transaction that was open
when they came into sight has ended (`sweeps`): what is committed late is found late, never missed. That
something was read twice is harmless: a webhook has one delivery for each event (`webhook_event_once`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Value
from django.db.models.fields import CharField
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from annotation.jobs import sweeps
from annotation.models import Answer, AuditEvent, Judgment, Membership, Rater, Webhook, WebhookDelivery
from annotation.models.people import MANAGING_ROLES
from annotation.webhooks.rules import matches_event
from annotation.webhooks.webhooks import delivery_body

_CHUNK = 500
_HIGHEST = {
    "audit": "SELECT max(id) FROM annotation_auditevent WHERE study_id = %(study)s",
    "judgments": "SELECT max(id) FROM annotation_judgment WHERE study_id = %(study)s",
}
SUBMITTED, REVISED = "judgment.submitted", "judgment.revised"
# Told of by the judgments themselves, which do not name an account.
_SENT_WITH_JUDGMENTS = (REVISED,)
# The last that is told of a rater: whoever holds what they said learns that it is to go.
_WITHDRAWN = "rater.withdrawn"
# Its subject was an e-mail address once.
_ASSIGNED = "cases.assigned"

_DeliveryBuilder = Callable[[Webhook, QuerySet[Any]], list[WebhookDelivery]]


def collect_events(webhook: Webhook, *, deadline: float) -> bool:
    """Write deliveries of the events that this webhook has not had yet: those in sight when the current pass began, or
    else those in sight now. False when `deadline` (monotonic) passed before the end, after at least one chunk, or when
    somebody changed or removed the webhook; the next call resumes from there.
    """
    if not webhook.sight:
        sight = list(sweeps.visible_heads(webhook.study, _HIGHEST))
        reached = {source: int(webhook.seen.get(source, 0)) for source in _SOURCES}
        if not _store_pass(webhook, sight=sight, reached=reached):
            return False
    heads, oldest_open, next_to_open = webhook.sight
    for source in _SOURCES:
        while webhook.reached[source] < heads[source]:
            if not _write_deliveries(webhook, source) or time.monotonic() > deadline:
                return False
    # All that the pass began with in sight has been read since, however many calls that took.
    moved = sweeps.advance_mark(webhook, (heads, oldest_open, next_to_open))
    return _store_pass(webhook, **moved, sight=[], reached={})


def _store_pass(webhook: Webhook, **fields: Any) -> bool:
    """False, and nothing stored, where the webhook's pass is another by now: it was switched off and on, or removed."""
    same = Webhook.objects.filter(pk=webhook.pk, sight=webhook.sight)
    fields["collected_at"] = timezone.now()
    for name, value in fields.items():
        setattr(webhook, name, value)
    return bool(same.update(**fields))


@transaction.atomic
def _write_deliveries(webhook: Webhook, source: str) -> bool:
    """Deliveries for the next rows of a source, and how far that came. False as `_store`."""
    after, head = webhook.reached[source], webhook.sight[0][source]
    rows = _ROWS[source].filter(study_id=webhook.study_id, pk__gt=after, pk__lte=head).order_by("pk")
    name = Concat(Value(f"{source}:"), Cast(OuterRef("pk"), CharField()))
    written = WebhookDelivery.objects.filter(webhook=webhook, source=name)
    ids = list(rows.values_list("pk", flat=True)[:_CHUNK])
    if not _store_pass(webhook, reached={**webhook.reached, source: ids[-1] if ids else head}):
        return False
    fresh = rows.filter(pk__in=ids).exclude(Exists(written))
    WebhookDelivery.objects.bulk_create(_SOURCES[source](webhook, fresh), ignore_conflicts=True)
    return True


def _deliveries_of_audit_events(webhook: Webhook, rows: QuerySet[AuditEvent]) -> list[WebhookDelivery]:
    """Whoever runs the study is named, and nobody else: what raters did is told under their pseudonyms."""
    runs = Membership.objects.filter(
        study_id=OuterRef("study_id"), user_id=OuterRef("actor_id"), role__in=MANAGING_ROLES
    )
    matching = [
        event
        for event in rows.annotate(actor_name=F("actor__name"), runs=Exists(runs))
        if event.action not in _SENT_WITH_JUDGMENTS and matches_event(webhook.events, event.action)
    ]
    raters = _raters(webhook, matching)
    return [
        _delivery(
            webhook,
            f"audit:{event.pk}",
            event.action,
            event.at.isoformat(),
            {
                "actor": event.actor_name if event.runs else None,
                "subject": "" if event.action == _ASSIGNED and "@" in event.subject else event.subject,
                **event.data,
            },
            rater_id=raters.get(event.pk),
        )
        for event in matching
    ]


def _raters(webhook: Webhook, events: Sequence[AuditEvent]) -> dict[int, int]:
    """Of which rater each event tells, where it is of one."""
    names = {event.pk: event.subject.removeprefix("rater ") for event in events if event.action != _WITHDRAWN}
    rows = Rater.objects.filter(study_id=webhook.study_id, pseudonym__in=set(names.values()))
    rater_ids = dict(rows.values_list("pseudonym", "pk"))
    return {event: rater_ids[name] for event, name in names.items() if name in rater_ids}


def _deliveries_of_judgments(webhook: Webhook, rows: QuerySet[Judgment]) -> list[WebhookDelivery]:
    """Every vote but those of raters who have left."""
    matching = (
        rows.exclude(rater__state=Rater.State.WITHDRAWN)
        .annotate(
            rater_name=F("rater__pseudonym"),
            task_name=F("task__external_id"),
            item_name=F("task__item_version__item__external_id"),
        )
        .defer("telemetry")
    )
    subscribed = [row for row in matching if matches_event(webhook.events, _event(row))]
    answers = _answers(subscribed) if webhook.with_answers else {}
    return [
        _delivery(
            webhook,
            f"judgments:{row.pk}",
            _event(row),
            row.submitted_at.isoformat(),
            {
                **_judgment_payload(row),
                **({"answers": answers.get(row.pk, [])} if webhook.with_answers else {}),
            },
            rater_id=row.rater_id,
        )
        for row in subscribed
    ]


def _event(judgment: Judgment) -> str:
    return SUBMITTED if judgment.revision == 1 else REVISED


def _judgment_payload(judgment: Any) -> dict[str, Any]:
    return {
        "judgment": str(judgment.client_id),
        "item": judgment.item_name,
        "task": judgment.task_name,
        "rater": judgment.rater_name,
        "revision": judgment.revision,
        "surplus": judgment.surplus,
        "origin": judgment.get_origin_display(),
    }


def _answers(judgments: Sequence[Judgment]) -> dict[int, list[dict[str, Any]]]:
    rows = Answer.objects.filter(judgment__in=judgments).order_by("question__position", "pk")
    answers: dict[int, list[dict[str, Any]]] = {}
    for row in rows.select_related("question", "candidate__system"):
        answer = {
            "question": row.question.key,
            "system": None if row.candidate is None else row.candidate.system.name,
            **{name: getattr(row, name) for name in ("choice", "value", "confidence", "text")},
        }
        # Of the kinds that have them, so that a receiver of the others gets what it always got.
        optional_parts = {"option": row.option, "options": row.options, "events": row.events}
        answer |= {name: part for name, part in optional_parts.items() if part is not None}
        answers.setdefault(row.judgment_id, []).append(answer)
    return answers


def _delivery(
    webhook: Webhook, source: str, event: str, at: str, data: dict[str, Any], **more: Any
) -> WebhookDelivery:
    name = uuid.uuid4()
    body = delivery_body(name, event, at, webhook.study.slug, data)
    return WebhookDelivery(webhook=webhook, delivery_id=name, source=source, event=event, body=body, **more)


# Votes that an import brought, millions perhaps, are reported by its own event.
_ROWS: dict[str, QuerySet[Any]] = {
    "audit": AuditEvent.objects.all(),
    "judgments": Judgment.objects.exclude(origin=Judgment.Origin.IMPORTED),
}
_SOURCES: dict[str, _DeliveryBuilder] = {
    "audit": _deliveries_of_audit_events,
    "judgments": _deliveries_of_judgments,
}
