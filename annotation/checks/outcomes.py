"""Outcomes of checks: an answer to a gold task, trap, repeat or training task, compared with what it expects. Stored in
the vote's own statement (`rating.judgments`, `rating.revisions`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.access import HeldAssignment
from annotation.checks import rules
from annotation.checks.rules import Key, Outcome
from annotation.models import Task
from annotation.protocols import Protocol
from annotation.rating.rules.answers import CanonicalAnswer, canonical_answers
from annotation.studies.protocols import load_protocol


def outcome_of(assignment: HeldAssignment, answers: Sequence[Mapping[str, Any]]) -> Outcome:
    """How valid answers compare with what the task expects; empty for a regular task. The only place that compares."""
    if assignment.kind == Task.Kind.REGULAR or assignment.expected is None:
        return Outcome()
    spec = load_protocol(assignment.protocol_version_id).spec
    given = canonical_answers(spec, answers=answers, presentation=assignment.presentation)
    expected = json.loads(assignment.expected)
    if assignment.kind != Task.Kind.REPEAT:
        return rules.outcome_by_keys([Key(*key) for key in expected], given)
    before = [
        CanonicalAnswer(question, slot, choice, value, selected=None if chosen is None else tuple(chosen))
        for question, slot, choice, value, chosen in expected
    ]
    return rules.outcome_of_repeat(before, given, spans=_spans(spec))


def _spans(spec: Protocol) -> dict[str, float]:
    """The length of each question's scale."""
    spans = {}
    for question in spec.questions:
        ends = question.values or (question.minimum, question.maximum)
        lowest, highest = ends[0], ends[-1]
        if question.kind in ("rating", "correctness") and lowest is not None and highest is not None:
            spans[question.key] = float(abs(highest - lowest))
    return spans
