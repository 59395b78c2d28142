"""What is asked of listening to one task: told in its briefing, and held against the log that comes with the vote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.utils import timezone

from annotation.at_work import HeldAssignment
from annotation.errors import FieldProblem, InvalidInput
from annotation.protocols import Protocol
from annotation.rules import coverage
from annotation.rules.answers import Problem
from annotation.rules.listening import Conditions, ListeningRules, Sound, conditions, held_since, mildest
from annotation.rules.loudness import Level
from annotation.rules.presentation import labels
from annotation.services.protocols import loaded
from annotation.services.sounds import CLIP_FIELDS

# Duration in seconds, integrated loudness in LUFS, true peak in dBTP.
Measured = tuple[float, float | None, float | None]

_FIELDS = {name: field for field, name in CLIP_FIELDS.items()}
# The clips of a task with what was measured of them: the item's own by their fields, the candidates' by their slots.
_SOUNDS = """
SELECT s.rules, played.field, played.slot, c.duration_s, c.loudness_lufs, c.true_peak_dbtp
FROM annotation_task t
JOIN annotation_study s ON s.id = t.study_id
JOIN annotation_itemversion v ON v.id = t.item_version_id
CROSS JOIN LATERAL (
    SELECT 'reference_clip' AS field, NULL::smallint AS slot, v.reference_clip_id AS clip_id
    UNION ALL SELECT 'clip', NULL, v.clip_id
    UNION ALL SELECT 'candidates', k.slot, d.clip_id
    FROM annotation_taskcandidate k JOIN annotation_candidate d ON d.id = k.candidate_id WHERE k.task_id = t.id
) played
JOIN annotation_clip c ON c.id = played.clip_id
WHERE t.id = %s
"""


def rules_in(text: str) -> ListeningRules:
    """From a study's `rules` as a cursor reads them."""
    return ListeningRules.of(json.loads(text))


def conditions_of(
    protocol: Protocol, *, rules: ListeningRules, measured: Mapping[str, Measured]
) -> Conditions:
    """Of clips by the names under which an assignment plays them."""
    sounds = [
        Sound(name, _FIELDS.get(name, "candidates"), duration, Level(*level))
        for name, (duration, *level) in measured.items()
    ]
    must_hear = protocol.listening.must_hear
    return conditions(rules, sounds=sounds, must_hear=must_hear, one_gain=protocol.repeats_a_sound)


def gains_once_heard(
    assignment: HeldAssignment, telemetry: Mapping[str, Any] | None
) -> list[float | None] | None:
    """Refuse a vote on what was not heard; else the gain in dB of each candidate, in the order shown.

    None where candidates are texts, and for simulated raters, who hear nothing and could only invent a log. Where a
    protocol neither shows clips to judge nor wants one heard, a log is only read for nonsense, and nothing is asked of
    the database.
    """
    if assignment.simulated:
        return None
    protocol = loaded(assignment.protocol_version_id).spec
    if protocol.candidate != "clip" and not protocol.listening.must_hear:
        _refuse(coverage.read(telemetry).problems)
        return None
    asked = _conditions(assignment)
    passed = (timezone.now() - assignment.leased_at).total_seconds()
    _refuse(coverage.check(telemetry, conditions=asked, wall_seconds=passed))
    if protocol.candidate != "clip":
        return None
    gains = {clip.name: clip.gain_db for clip in asked.clips}
    return [gains.get(name) for name in _names(assignment)]


def _refuse(problems: list[Problem]) -> None:
    if problems:
        found = [FieldProblem(problem.field, problem.message) for problem in problems]
        raise InvalidInput(
            "This vote needs listening that its log does not show.", problems=found, code="unheard"
        )


def _conditions(assignment: HeldAssignment) -> Conditions:
    """Where the minimums were changed meanwhile, the mildest since the task was handed out: nobody listens in vain."""
    spec = loaded(assignment.protocol_version_id).spec
    with connection.cursor() as cursor:
        cursor.execute(_SOUNDS, [assignment.task_id])
        rows = cursor.fetchall()
    own = {row[1]: row[3:] for row in rows if row[2] is None}
    judged = {row[2]: row[3:] for row in rows if row[2] is not None}
    measured: dict[str, Measured] = {
        **{CLIP_FIELDS[field]: own[field] for field in spec.content if field in own},
        **{name: judged[slot] for name, slot in _names(assignment).items() if slot in judged},
    }
    since = held_since(json.loads(rows[0][0]) if rows else {}, assignment.leased_at)
    return mildest([conditions_of(spec, rules=rules, measured=measured) for rules in since])


def _names(assignment: HeldAssignment) -> dict[str, int]:
    """The slot of each candidate by the name of its clip, in the order shown."""
    letters = labels(loaded(assignment.protocol_version_id).spec.layout).lower()
    return dict(zip(letters, assignment.presentation, strict=False))
