"""What a rater's browser may know of a task: its content, unnamed, in the order drawn for them. Nothing else."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from annotation.models import Assignment, Clip, TaskCandidate
from annotation.services.protocols import loaded

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CLIP_FIELDS = {"reference_clip": "reference", "clip": "recording"}


@dataclass(frozen=True)
class ClipPart:
    """A playable part. `name` addresses it within the assignment; nothing in it survives the assignment."""

    name: str
    clip: Clip

    def as_json(self) -> dict[str, Any]:
        peaks = bytes(self.clip.peaks)
        return {
            "name": self.name,
            "duration": round(self.clip.duration_s, 3),
            "channels": self.clip.channels,
            "peaks": base64.b64encode(peaks).decode(),
        }


def brief(assignment: Assignment) -> dict[str, Any]:
    """The assignment as its rater may see it: `content` in protocol order, then `candidates` as A, B, …"""
    protocol = loaded(assignment.protocol_version).spec
    slots = _slots(assignment.task_id)
    version = slots[0].task.item_version
    content: list[dict[str, Any]] = []
    for field in protocol.content:
        if field in CLIP_FIELDS:
            if clip := getattr(version, field):
                content.append({"field": field, "clip": ClipPart(CLIP_FIELDS[field], clip).as_json()})
        elif text := getattr(version, field):
            content.append({"field": field, "text": text})
    candidates = []
    for position, slot in enumerate(assignment.presentation):
        candidate = slots[slot].candidate
        part: dict[str, Any] = {"label": LABELS[position]}
        if candidate.clip is not None:
            part["clip"] = ClipPart(LABELS[position].lower(), candidate.clip).as_json()
        if candidate.text:
            part["text"] = candidate.text
        candidates.append(part)
    return {
        "id": str(assignment.pk),
        "protocol_version": assignment.protocol_version.number,
        "expires_at": assignment.expires_at,
        "content": content,
        "candidates": candidates,
    }


def clip_named(assignment: Assignment, name: str) -> Clip | None:
    """The clip behind a part's name, as this assignment shows it."""
    slots = _slots(assignment.task_id)
    for field, part in CLIP_FIELDS.items():
        protocol = loaded(assignment.protocol_version).spec
        if name == part and field in protocol.content:
            clip: Clip | None = getattr(slots[0].task.item_version, field)
            return clip
    position = LABELS.lower().find(name) if len(name) == 1 else -1
    if 0 <= position < len(assignment.presentation):
        return slots[assignment.presentation[position]].candidate.clip
    return None


def _slots(task_id: int) -> list[TaskCandidate]:
    """All rows of a task in one query: slots, candidates, their clips, the item version and its clips."""
    rows = TaskCandidate.objects.filter(task_id=task_id).order_by("slot")
    return list(
        rows.select_related(
            "candidate__clip", "task__item_version__clip", "task__item_version__reference_clip"
        )
    )
