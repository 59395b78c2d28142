"""Listen-before-vote: what a briefing requires of listening to one task, and the check of the playback log that comes
with the vote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from annotation.access import HeldAssignment
from annotation.errors import FieldProblem, InvalidInput
from annotation.listening.rules import coverage
from annotation.listening.rules.coverage import (
    MINIMUMS,
    Conditions,
    ListeningRules,
    TaskClip,
    listening_conditions,
    mildest_conditions,
    rules_in_force_since,
    validate_listening,
    with_earlier_minimums,
)
from annotation.listening.rules.loudness import ClipLevel
from annotation.listening.signed_clips import CLIP_FIELDS
from annotation.models import Study, User
from annotation.protocols import Protocol
from annotation.rating.rules.counterbalancing import candidate_labels
from annotation.studies.protocols import load_protocol
from annotation.studies.stored_settings import lock_study, save_settings

# Duration in seconds, integrated loudness in LUFS, true peak in dBTP.
ClipMeasurements = tuple[float, float | None, float | None]

_FIELDS = {name: field for field, name in CLIP_FIELDS.items()}
# The clips of a task with what was measured of them: the item's own by their fields, the candidates' by their slots.
_TASK_CLIPS = """
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


def listening_rules_in(text: str) -> ListeningRules:
    """From a study's `rules` as a cursor reads them."""
    return ListeningRules.of(json.loads(text))


def conditions_of(
    protocol: Protocol, *, rules: ListeningRules, measured: Mapping[str, ClipMeasurements]
) -> Conditions:
    """Of clips by the names under which an assignment plays them."""
    sounds = [
        TaskClip(name, _FIELDS.get(name, "candidates"), duration, ClipLevel(*level))
        for name, (duration, *level) in measured.items()
    ]
    must_hear = protocol.listening.must_hear
    return listening_conditions(rules, sounds=sounds, must_hear=must_hear, one_gain=protocol.repeats_a_sound)


def require_listening(
    assignment: HeldAssignment, telemetry: Mapping[str, Any] | None
) -> list[float | None] | None:
    """Refuse a vote on what was not heard; else the gain in dB of each candidate, in the order shown.

    None where candidates are texts, and for simulated raters without a log. A simulated rater's log is checked by its
    own clock (`simulated_seconds`): nobody waits while a program pretends to listen. Where a protocol neither shows
    clips to judge nor wants one heard, a log is only read for nonsense, and nothing is asked of the database.
    """
    if assignment.simulated and telemetry is None:
        return None
    protocol = load_protocol(assignment.protocol_version_id).spec
    if protocol.candidate != "clip" and not protocol.listening.must_hear:
        _refuse_unheard(coverage.read_playback_log(telemetry).problems)
        return None
    conditions = _conditions_of_assignment(assignment)
    elapsed_seconds = (timezone.now() - assignment.leased_at).total_seconds()
    if assignment.simulated:
        elapsed_seconds = coverage.simulated_seconds(telemetry) or 0.0
    _refuse_unheard(
        coverage.check_playback_log(telemetry, conditions=conditions, wall_seconds=elapsed_seconds)
    )
    if protocol.candidate != "clip":
        return None
    gains = {clip.name: clip.gain_db for clip in conditions.clips}
    return [gains.get(name) for name in _candidate_slots(assignment)]


def _refuse_unheard(problems: list[FieldProblem]) -> None:
    if problems:
        message = "This vote needs listening that its log does not show."
        raise InvalidInput(message, problems=problems, code="unheard")


def _conditions_of_assignment(assignment: HeldAssignment) -> Conditions:
    """Where the minimums were changed meanwhile, the mildest since the task was handed out: nobody listens in vain."""
    spec = load_protocol(assignment.protocol_version_id).spec
    with connection.cursor() as cursor:
        cursor.execute(_TASK_CLIPS, [assignment.task_id])
        rows = cursor.fetchall()
    item_clips = {row[1]: row[3:] for row in rows if row[2] is None}
    candidate_clips = {row[2]: row[3:] for row in rows if row[2] is not None}
    measured: dict[str, ClipMeasurements] = {
        **{CLIP_FIELDS[field]: item_clips[field] for field in spec.content if field in item_clips},
        **{
            name: candidate_clips[slot]
            for name, slot in _candidate_slots(assignment).items()
            if slot in candidate_clips
        },
    }
    since = rules_in_force_since(json.loads(rows[0][0]) if rows else {}, assignment.leased_at)
    return mildest_conditions([conditions_of(spec, rules=rules, measured=measured) for rules in since])


def _candidate_slots(assignment: HeldAssignment) -> dict[str, int]:
    """The slot of each candidate by the name of its clip, in the order shown."""
    letters = candidate_labels(load_protocol(assignment.protocol_version_id).spec.layout).lower()
    return dict(zip(letters, assignment.presentation, strict=False))


@transaction.atomic
def set_listening_rules(study: Study, *, actor: User | None, **settings: Any) -> Study:
    """Change some of the settings; what is not named stays as it is.

    Loudness is part of the instrument: votes given with and without it are not of one kind, so it is fixed once the
    study has begun. Other minimums hold for the tasks handed out from now on: a vote on an earlier one needs no more
    than was asked when its rater began. The rest holds for the tasks that are open at this moment, too.
    """
    study = lock_study(study)
    rules = ListeningRules.of(study.rules)
    before = asdict(rules)
    after = {**before, **settings}
    problems = validate_listening(after)
    begun = study.state != Study.State.DRAFT
    if begun and after["loudness"] != before["loudness"]:
        problems += [FieldProblem("loudness", "Loudness can be chosen only while the study is a draft.")]
    if begun and any(after[name] != before[name] for name in MINIMUMS):
        study.rules = with_earlier_minimums(study.rules, before=rules, until=timezone.now())
    stored = {**study.rules.get("listening", {}), **settings}
    save_settings(
        study, "listening", actor=actor, before=before, after=after, problems=problems, stored=stored
    )
    return study
