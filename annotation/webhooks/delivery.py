"""Webhook delivery: at least once, with retries, backoff and a circuit breaker.

A delivery is a row: it is claimed before it is sent. A worker that dies leaves a row that is sent again a minute
later, perhaps for the second time.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation import http_guard
from annotation.advisory_locks import LockKey, session_lock
from annotation.errors import DomainError
from annotation.models import Rater, Webhook, WebhookDelivery
from annotation.studies import audit
from annotation.webhooks import events, rules, webhooks

_CONCURRENCY = 8
# Apart, so that a long backlog of one webhook holds up no delivery of another.
_COLLECT_S = 10.0
_SEND_S = 20.0
_CLAIM = timedelta(seconds=60)
# How long an address may take, and how much of its answer is kept.
RESPONSE_TIMEOUT_S = 10.0
RESPONSE_EXCERPT = 1000
# How long the log of what got through is kept; what was given up stays three times as long.
LOG_RETENTION = timedelta(days=30)

_State = WebhookDelivery.State


@dataclass(frozen=True)
class Attempt:
    """How one try went. `status` is None where no answer came."""

    status: int | None
    answer: str
    duration_ms: int

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def sweep() -> int:
    """Collect what is new and send what is due, for at most half a minute; how many tries were made."""
    with session_lock(LockKey.WEBHOOK_SWEEP) as alone:
        if not alone or not Webhook.objects.exists():
            return 0
        _collect(time.monotonic() + _COLLECT_S)
        drop_deliveries_of_withdrawn()
        delete_old_deliveries()
        return _send_due(time.monotonic() + _SEND_S)


def _collect(deadline: float) -> None:
    """In turn: whichever had to wait for a long backlog of another comes first in the next sweep."""
    for webhook in _active_webhooks().select_related("study").order_by("collected_at", "pk"):
        events.collect_events(webhook, deadline=deadline)
        if time.monotonic() > deadline:
            return


def _active_webhooks() -> QuerySet[Webhook]:
    return Webhook.objects.filter(active=True, paused=Webhook.Pause.NONE)


def _send_due(deadline: float) -> int:
    """A round of one delivery for each webhook, side by side, until nothing is due: one that is slow or fails holds up
    no other."""
    n_tries = 0
    with ThreadPoolExecutor(_CONCURRENCY, thread_name_prefix="webhook") as pool:
        while time.monotonic() < deadline and (claimed := _claimed_round()):
            tries = pool.map(_attempt, claimed)
            for delivery, outcome in zip(claimed, tries, strict=True):
                _record_attempt(delivery, outcome)
            n_tries += len(claimed)
    return n_tries


def _claimed_round() -> list[WebhookDelivery]:
    now = timezone.now()
    ready = _active_webhooks().filter(Q(hold_until=None) | Q(hold_until__lte=now)).select_related("study")
    claims = (_claim(webhook, now) for webhook in ready)
    return [delivery for delivery in claims if delivery is not None]


def _claim(webhook: Webhook, now: datetime) -> WebhookDelivery | None:
    # Looked at anew for each: whoever withdraws while others are being sent is not told of any more.
    due = WebhookDelivery.objects.filter(webhook=webhook, state=_State.WAITING, due_at__lte=now).exclude(
        rater__state=Rater.State.WITHDRAWN
    )
    delivery = due.order_by("due_at", "pk").first()
    if delivery is None:
        return None
    # Claim before calling out: a crash then leaves a row that is due again when the claim has run out.
    claimed = due.filter(pk=delivery.pk).update(due_at=now + _CLAIM, n_tries=F("n_tries") + 1)
    delivery.n_tries += 1
    delivery.webhook = webhook
    return delivery if claimed else None


def _attempt(delivery: WebhookDelivery) -> Attempt:
    """One request. Reads no database: it runs beside others."""
    began, at = time.monotonic(), int(time.time())
    headers = {
        "Content-Type": "application/json",
        "Concord-Event": delivery.event,
        "Concord-Delivery": str(delivery.delivery_id),
        "Concord-Signature": rules.signature(webhooks.active_secrets(delivery.webhook), delivery.body, at=at),
    }
    status: int | None = None
    try:
        with http_guard.request(
            delivery.webhook.address,
            method="POST",
            headers=headers,
            content=delivery.body.encode(),
            timeout_s=RESPONSE_TIMEOUT_S,
        ) as response:
            status = response.status
            answer = response.read_up_to(RESPONSE_EXCERPT).decode(errors="replace").replace("\0", "")
    except DomainError as error:
        answer = error.message
    return Attempt(status, answer[:RESPONSE_EXCERPT], round(1000 * (time.monotonic() - began)))


def _record_attempt(delivery: WebhookDelivery, outcome: Attempt) -> None:
    now = timezone.now()
    wait = None if outcome.status == 410 else rules.retry_delay(delivery.n_tries, chance=random.random())
    if outcome.succeeded:
        state, due = _State.DELIVERED, now
    elif wait is None:
        state, due = _State.FAILED, now
    else:
        state, due = _State.WAITING, now + wait
    attempt_fields = {"status": outcome.status, "answer": outcome.answer, "duration_ms": outcome.duration_ms}
    waiting = WebhookDelivery.objects.filter(pk=delivery.pk, state=_State.WAITING)
    waiting.update(state=state, due_at=due, tried_at=now, **attempt_fields)
    _record_health(delivery.webhook, outcome, now)


def _record_health(webhook: Webhook, outcome: Attempt, now: datetime) -> None:
    rows = Webhook.objects.filter(pk=webhook.pk)
    if outcome.succeeded:
        if webhook.n_failures:
            rows.update(n_failures=0, failing_since=None, hold_until=None)
        return
    failures = webhook.n_failures + 1
    since = webhook.failing_since or now
    rows.update(n_failures=failures, failing_since=since, hold_until=now + rules.backoff_after(failures))
    if outcome.status == 410:
        _pause(webhook, Webhook.Pause.GONE)
    elif now - since > rules.PAUSE_AFTER:
        _pause(webhook, Webhook.Pause.FAILING)


def _pause(webhook: Webhook, reason: Webhook.Pause) -> None:
    if Webhook.objects.filter(pk=webhook.pk, paused=Webhook.Pause.NONE).update(paused=reason):
        subject = f"webhook {webhook.pk}"
        audit.record("webhook.paused", actor=None, study=webhook.study, subject=subject, reason=reason.value)


def drop_deliveries_of_withdrawn() -> int:
    """What tells of somebody who has withdrawn is neither sent nor kept."""
    theirs = WebhookDelivery.objects.filter(rater__state=Rater.State.WITHDRAWN).exclude(state=_State.DROPPED)
    return theirs.update(state=_State.DROPPED, body="", answer="")


def delete_old_deliveries() -> None:
    now = timezone.now()
    delivered = Q(state__in=(_State.DELIVERED, _State.DROPPED), created_at__lt=now - LOG_RETENTION)
    old = WebhookDelivery.objects.filter(
        delivered | Q(state=_State.FAILED, created_at__lt=now - 3 * LOG_RETENTION)
    )
    old.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()
