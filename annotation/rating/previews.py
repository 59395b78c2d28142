"""Previews of a study's tasks for those who run it: the briefings and answer checks of raters. Nothing is stored,
leased or counted: a preview is a lease that no row stands for, and its id is the task's, which whoever runs the study
may know.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotation.access import HeldAssignment
from annotation.errors import NotFound
from annotation.listening import coverage, signed_clips
from annotation.models import Assignment, Study, Task, TaskCandidate
from annotation.rating import briefings, judgments
from annotation.rating.examples import EXAMPLE_ID, example_briefing, n_candidates
from annotation.rating.judgments import Receipt, Submission
from annotation.rating.leases import Lease
from annotation.rating.rules import counterbalancing
from annotation.studies.protocols import LoadedProtocol, draft_version_id, load_protocol

# How far a preview goes: the first tasks tell what the others are like.
MAX_PREVIEWS = 20
# A preview has no lease to tell how long its task was open: nothing in its first hour is called too quick.
_OPEN_SINCE = timedelta(hours=1)


# The pages' own addresses of a draft's preview, and the API's of the version in force.
ROUTES = signed_clips.Routes("api_preview_clip", "api_preview_spectrogram")
DRAFT_ROUTES = signed_clips.Routes("draft_preview_clip", "draft_preview_spectrogram")


def next_preview(study: Study, *, seen: Collection[uuid.UUID], draft: bool = False) -> dict[str, Any] | None:
    """The briefing of the first task, as imported, that was not seen yet; None after the last.

    Of a draft: as the draft asks about it, and an example where the study has no task that its layout can show.
    """
    if len(set(seen)) >= MAX_PREVIEWS:
        return None
    tasks = Task.objects.filter(study=study, state=Task.State.READY)
    if draft:
        protocol = load_protocol(draft_version_id(study))
        tasks = _tasks_shown_by(study, protocol, tasks)
        if not tasks.exists():
            return None if seen else example(study)
    first = (
        tasks.exclude(pk__in=[one.int % 2**63 for one in seen])
        .order_by("pk")
        .values_list("pk", flat=True)
        .first()
    )
    return None if first is None else preview_briefing(study, _draw_preview(study, first, draft=draft))


def _tasks_shown_by(study: Study, protocol: LoadedProtocol, tasks: QuerySet[Task]) -> QuerySet[Task]:
    """The tasks, where they fit the layout and the candidates of this protocol; none of them otherwise."""
    now = load_protocol(study.protocol_version_id).spec
    parts = ("layout", "candidate", "added")
    fits = all(getattr(now, part) == getattr(protocol.spec, part) for part in parts)
    return tasks if fits else tasks.none()


def preview_briefing(study: Study, preview: Lease) -> dict[str, Any]:
    routes = DRAFT_ROUTES if preview.protocol_version_id < 0 else ROUTES
    return briefings.brief(preview, routes=replace(routes, args=(study.slug,)))


def preview_of(study: Study, preview_id: uuid.UUID, *, draft: bool = False) -> Lease:
    """Raises NotFound for what is no task of this study that raters could get."""
    if preview_id.int >= 2**63:
        raise NotFound
    tasks = Task.objects.filter(study=study, state=Task.State.READY, pk=preview_id.int)
    if not tasks.exists():
        raise NotFound
    return _draw_preview(study, preview_id.int, draft=draft)


def example(study: Study) -> dict[str, Any]:
    """The briefing of the example of a draft."""
    return example_briefing(study, load_protocol(draft_version_id(study)), clip_view=DRAFT_ROUTES.clip)


def example_preview(study: Study) -> Lease:
    """The example of a draft, for which there is no task."""
    protocol = load_protocol(draft_version_id(study))
    order = list(range(n_candidates(protocol.spec)))
    ends = timezone.now() + timedelta(minutes=study.lease_minutes)
    return Lease(EXAMPLE_ID, 0, draft_version_id(study), order, ends)


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
    if preview.id != EXAMPLE_ID:
        coverage.require_listening(assignment, submission.telemetry)
    return Receipt(submission.client_id, replayed=False, surplus=False)


def _draw_preview(study: Study, task_id: int, *, draft: bool) -> Lease:
    """In the order that the task's first rater could get; the same each time."""
    assert study.protocol_version_id is not None
    version_id = draft_version_id(study) if draft else study.protocol_version_id
    order = counterbalancing.draw_order(
        TaskCandidate.objects.filter(task_id=task_id).count(),
        layout=load_protocol(version_id).spec.layout,
        balance=0,
        n_draws=0,
        seed=study.seed ^ task_id,
    )
    ends = timezone.now() + timedelta(minutes=study.lease_minutes)
    return Lease(uuid.UUID(int=task_id), task_id, version_id, order, ends)
