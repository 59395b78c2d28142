"""Briefings (blinding): all that a rater's browser may know of a task before the vote. Content without systems, in the
order drawn for this rater."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from django.db import connection

from annotation.listening import coverage, signed_clips, spectrograms
from annotation.listening.coverage import ClipMeasurements
from annotation.listening.rules.coverage import Conditions, page_settings
from annotation.listening.signed_clips import CLIP_FIELDS
from annotation.rating.rules import hints
from annotation.rating.rules.counterbalancing import candidate_labels
from annotation.studies.protocols import load_protocol

# A flat line, drawn where two clips are one sound: their waveforms would tell at a glance.
NO_PEAKS = bytes(2)
_TEXT_FIELDS = ("prompt", "lyrics", "question", "reference", "rationale", "transcript")
_CONTENT = """
SELECT v.prompt, v.lyrics, v.question, v.reference, v.rationale, v.transcript,
       v.reference_clip_id, v.clip_id, slots.texts, slots.clips, s.rules,
       (SELECT r.comment FROM annotation_return r JOIN annotation_assignment a ON a.id = %(assignment)s
        WHERE r.task_id = t.id AND r.assignment_id IS NULL AND r.state = 'waiting' AND a.state = 1
          AND NOT EXISTS (SELECT 1 FROM annotation_barredrater b
                          WHERE b.task_id = t.id AND b.rater_id = a.rater_id AND b.reason = 'reviews')
        ORDER BY r.id DESC LIMIT 1),
       CASE WHEN s.rules ? 'hints' THEN
           (SELECT a.hint FROM annotation_assignment a WHERE a.id = %(assignment)s AND a.hint_shown) END
FROM annotation_task t
JOIN annotation_study s ON s.id = t.study_id
JOIN annotation_itemversion v ON v.id = t.item_version_id
JOIN LATERAL (
    SELECT array_agg(c.text ORDER BY s.slot) AS texts, array_agg(c.clip_id ORDER BY s.slot) AS clips
    FROM annotation_taskcandidate s JOIN annotation_candidate c ON c.id = s.candidate_id
    WHERE s.task_id = t.id
) slots ON true
WHERE t.id = %(task)s
"""
_CLIPS = """
SELECT id, channels, peaks, part_offsets, n_samples, duration_s, loudness_lufs, true_peak_dbtp
FROM annotation_clip WHERE id = ANY(%s)
"""


class _ClipFacts(NamedTuple):
    channels: int
    peaks: bytes
    part_offsets: list[int]
    n_samples: int
    duration: float
    loudness_lufs: float | None
    true_peak_dbtp: float | None

    @property
    def measured(self) -> ClipMeasurements:
        return self.duration, self.loudness_lufs, self.true_peak_dbtp


class ShownTask(signed_clips.ShownTask, Protocol):
    @property
    def expires_at(self) -> datetime: ...


def brief(shown: ShownTask, *, routes: signed_clips.Routes = signed_clips.RATING_ROUTES) -> dict[str, Any]:
    """The task as its rater may see it: `content` in protocol order, then `candidates` as A, B, …

    `note` is there while an expert asks for more judgments of it: their own words, which might tell what others said.
    So it is for whoever judges the task now, and not for experts who judge it blind. `hint` is there where the study
    shows what a model says of the task, and it was not drawn to be kept from this rater.
    """
    protocol = load_protocol(shown.protocol_version_id)
    with connection.cursor() as cursor:
        cursor.execute(_CONTENT, {"task": shown.task_id, "assignment": shown.id})
        *texts, reference_clip, clip, candidate_texts, candidate_clips, rules_text, note, hint = (
            cursor.fetchone()
        )
    parts = dict(zip(_TEXT_FIELDS, texts, strict=True)) | {"reference_clip": reference_clip, "clip": clip}
    letters = candidate_labels(protocol.spec.layout)
    shown_clips = {
        CLIP_FIELDS[field]: parts[field]
        for field in protocol.spec.content
        if field in CLIP_FIELDS and parts[field]
    } | {
        letter.lower(): candidate_clips[slot]
        for letter, slot in zip(letters, shown.presentation, strict=False)
        if candidate_clips[slot]
    }
    facts = _clip_facts(shown_clips)
    rules = coverage.listening_rules_in(rules_text)
    conditions = coverage.conditions_of(
        protocol.spec, rules=rules, measured={name: fact.measured for name, fact in facts.items()}
    )
    if protocol.spec.repeats_a_sound:
        facts = {name: fact._replace(peaks=NO_PEAKS) for name, fact in facts.items()}
    clips = _clips(shown.id, facts, conditions, routes)
    if spectrograms.shows_spectrograms(protocol.spec, rules):
        for name, clip in clips.items():
            clip["spectrogram"] = routes.to(routes.spectrogram, shown.id, name)
    instructed = any(parts[field] for field in protocol.spec.content if field in _TEXT_FIELDS)
    briefing = {
        "id": str(shown.id),
        "protocol_version": protocol.number,
        "expires_at": shown.expires_at,
        "content": list(_content(protocol.spec.content, parts, clips)),
        "candidates": [
            _candidate(letter, candidate_texts[slot], clips.get(letter.lower()))
            for letter, slot in zip(letters, shown.presentation, strict=False)
        ],
        "listening": page_settings(
            rules, conditions=conditions, instruction_first=instructed and any(candidate_clips)
        ),
    }
    if note is not None:
        briefing["note"] = note
    if hint is not None and (
        said := hints.hint_as_shown(json.loads(hint), protocol.spec, shown.presentation)
    ):
        briefing["hint"] = said
    return briefing


def _content(
    fields: Sequence[str], parts: Mapping[str, Any], clips: Mapping[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for field in fields:
        if not (part := parts[field]):
            continue
        if field in CLIP_FIELDS:
            yield {"field": field, "clip": clips[CLIP_FIELDS[field]]}
        else:
            yield {"field": field, "text": part}


def _candidate(label: str, text: str, clip: dict[str, Any] | None) -> dict[str, Any]:
    part: dict[str, Any] = {"label": label}
    if clip is not None:
        part["clip"] = clip
    if text:
        part["text"] = text
    return part


def _clip_facts(shown: Mapping[str, int]) -> dict[str, _ClipFacts]:
    """By the name of each clip. `shown` holds clip ids."""
    if not shown:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_CLIPS, [list(set(shown.values()))])
        facts = {clip_id: _ClipFacts(*rest) for clip_id, *rest in cursor.fetchall()}
    return {name: facts[clip_id] for name, clip_id in shown.items()}


def _clips(
    assignment_id: uuid.UUID,
    facts: Mapping[str, _ClipFacts],
    conditions: Conditions,
    routes: signed_clips.Routes,
) -> dict[str, dict[str, Any]]:
    """By the name of each clip, what a browser may know of it."""
    offsets = {name: fact.part_offsets for name, fact in facts.items()}
    delivered = signed_clips.clip_links(assignment_id, offsets, routes=routes)
    return {
        clip.name: {
            "name": clip.name,
            "duration": round(clip.duration, 3),
            "channels": facts[clip.name].channels,
            "samples": facts[clip.name].n_samples,
            "peaks": base64.b64encode(facts[clip.name].peaks).decode(),
            "url": delivered[clip.name].url,
            "parts": delivered[clip.name].parts,
            "gain_db": clip.gain_db,
            "must_hear": clip.must_hear,
        }
        for clip in conditions.clips
    }
