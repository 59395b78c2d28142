"""Previews of a study's tasks for those who run it: the briefings and answer checks of raters. Nothing is stored,
leased or counted: a preview is a lease that no row stands for, and its id is the task's, which whoever runs the study
may know.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.access import HeldAssignment
from annotation.errors import NotFound
from annotation.listening import coverage, signed_clips
from annotation.models import Assignment, Study, Task, TaskCandidate
from annotation.rating import briefings, judgments
from annotation.rating.judgments import Receipt, Submission
from annotation.rating.leases import Lease
from annotation.rating.rules import counterbalancing
from annotation.studies.protocols import load_protocol

# How far a preview goes: the first tasks tell what the others are like.
MAX_PREVIEWS = 20
# A preview has no lease to tell how long its task was open: nothing in its first hour is called too quick.
_OPEN_SINCE = timedelta(hours=1)


def next_preview(study: Study, *, seen: Collection[uuid.UUID]) -> dict[str, Any] | None:
    """The briefing of the first task, as imported, that was not seen yet; None after the last."""
    if len(set(seen)) >= MAX_PREVIEWS:
        return None
    tasks = Task.objects.filter(study=study, state=Task.State.READY)
    first = (
        tasks.exclude(pk__in=[one.int % 2**63 for one in seen])
        .order_by("pk")
        .values_list("pk", flat=True)
        .first()
    )
    return None if first is None else preview_briefing(study, _draw_preview(study, first))


def preview_briefing(study: Study, preview: Lease) -> dict[str, Any]:
    routes = signed_clips.Routes("api_preview_clip", "api_preview_spectrogram", (study.slug,))
    return briefings.brief(preview, routes=routes)


def preview_of(study: Study, preview_id: uuid.UUID) -> Lease:
    """Raises NotFound for what is no task of this study that raters could get."""
    if preview_id.int >= 2**63:
        raise NotFound
    tasks = Task.objects.filter(study=study, state=Task.State.READY, pk=preview_id.int)
    if not tasks.exists():
        raise NotFound
    return _draw_preview(study, preview_id.int)


def check_preview_answer(study: Study, preview: Lease, submission: Submission) -> Receipt:
    """Refuse what would be refused of a rater; the receipt that they would get."""
    assignment = HeldAssignment(
        id=preview.id,
        state=Assignment.State.OPEN,
        presentation=preview.presentation,
        leased_at=timezone.now() - _OPEN_SINCE,
        protocol_version_id=preview.protocol_version_id,
        rater_id=0,
        task_id=preview.task_id,
        task_state=Task.State.READY,
        study_id=study.pk,
    )
    judgments.check_answers(assignment, submission)
    coverage.require_listening(assignment, submission.telemetry)
    return Receipt(submission.client_id, replayed=False, surplus=False)


def _draw_preview(study: Study, task_id: int) -> Lease:
    """In the order that the task's first rater could get; the same each time."""
    assert study.protocol_version_id is not None
    order = counterbalancing.draw_order(
        TaskCandidate.objects.filter(task_id=task_id).count(),
        layout=load_protocol(study.protocol_version_id).spec.layout,
        balance=0,
        n_draws=0,
        seed=study.seed ^ task_id,
    )
    ends = timezone.now() + timedelta(minutes=study.lease_minutes)
    return Lease(uuid.UUID(int=task_id), task_id, study.protocol_version_id, order, ends)
