"""What a rater's browser may know of a task: its content, unnamed, in the order drawn for them. Nothing else."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from django.db import connection

from annotation.models import Assignment, Clip, ItemVersion, TaskCandidate
from annotation.services.protocols import loaded

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Item fields that are clips, and the name under which an assignment plays them.
CLIP_FIELDS = {"reference_clip": "reference", "clip": "recording"}

_TEXT_FIELDS = ("prompt", "lyrics", "question", "reference", "rationale", "transcript")
_CONTENT = """
SELECT v.prompt, v.lyrics, v.question, v.reference, v.rationale, v.transcript,
       v.reference_clip_id, v.clip_id, slots.texts, slots.clips
FROM annotation_task t
JOIN annotation_itemversion v ON v.id = t.item_version_id
JOIN LATERAL (
    SELECT array_agg(c.text ORDER BY s.slot) AS texts, array_agg(c.clip_id ORDER BY s.slot) AS clips
    FROM annotation_taskcandidate s JOIN annotation_candidate c ON c.id = s.candidate_id
    WHERE s.task_id = t.id
) slots ON true
WHERE t.id = %s
"""
_CLIPS = "SELECT id, duration_s, channels, peaks FROM annotation_clip WHERE id = ANY(%s)"


class Shown(Protocol):
    """An assignment, or a lease of one."""

    @property
    def id(self) -> uuid.UUID: ...
    @property
    def task_id(self) -> int: ...
    @property
    def protocol_version_id(self) -> int: ...
    @property
    def presentation(self) -> Sequence[int]: ...
    @property
    def expires_at(self) -> datetime: ...


def brief(shown: Shown) -> dict[str, Any]:
    """The task as its rater may see it: `content` in protocol order, then `candidates` as A, B, …"""
    protocol = loaded(shown.protocol_version_id)
    with connection.cursor() as cursor:
        cursor.execute(_CONTENT, [shown.task_id])
        *texts, reference_clip, clip, candidate_texts, candidate_clips = cursor.fetchone()
    parts = dict(zip(_TEXT_FIELDS, texts, strict=True)) | {"reference_clip": reference_clip, "clip": clip}
    clips = _clips([reference_clip, clip, *candidate_clips])
    return {
        "id": str(shown.id),
        "protocol_version": protocol.number,
        "expires_at": shown.expires_at,
        "content": list(_content(protocol.spec.content, parts, clips)),
        "candidates": [
            _candidate(LABELS[position], candidate_texts[slot], clips.get(candidate_clips[slot]))
            for position, slot in enumerate(shown.presentation)
        ],
    }


def clip_named(assignment: Assignment, name: str) -> Clip | None:
    """The clip behind a part's name, as this assignment shows it."""
    protocol = loaded(assignment.protocol_version_id).spec
    for field, part in CLIP_FIELDS.items():
        if name == part and field in protocol.content:
            version = ItemVersion.objects.select_related(field).get(tasks=assignment.task_id)
            clip: Clip | None = getattr(version, field)
            return clip
    position = LABELS.lower().find(name) if len(name) == 1 else -1
    if not 0 <= position < len(assignment.presentation):
        return None
    slot = TaskCandidate.objects.select_related("candidate__clip").get(
        task_id=assignment.task_id, slot=assignment.presentation[position]
    )
    return slot.candidate.clip


def _content(
    fields: Sequence[str], parts: Mapping[str, Any], clips: Mapping[int, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for field in fields:
        if not (part := parts[field]):
            continue
        if field in CLIP_FIELDS:
            yield {"field": field, "clip": {"name": CLIP_FIELDS[field], **clips[part]}}
        else:
            yield {"field": field, "text": part}


def _candidate(label: str, text: str, clip: dict[str, Any] | None) -> dict[str, Any]:
    part: dict[str, Any] = {"label": label}
    if clip is not None:
        part["clip"] = {"name": label.lower(), **clip}
    if text:
        part["text"] = text
    return part


def _clips(ids: Sequence[int | None]) -> dict[int, dict[str, Any]]:
    """By clip id, what a browser may know of it."""
    wanted = [clip_id for clip_id in ids if clip_id]
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_CLIPS, [wanted])
        return {
            clip_id: {
                "duration": round(duration, 3),
                "channels": channels,
                "peaks": base64.b64encode(peaks).decode(),
            }
            for clip_id, duration, channels, peaks in cursor.fetchall()
        }
