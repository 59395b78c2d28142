"""Answers of a judgment: validation against the protocol, and their canonical form without the presentation order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.errors import FieldProblem
from annotation.protocols import Protocol, QuestionSpec

MAX_COMMENT = 4000

# Canonical codes of a preference; sides as shown (A, B) become slots through the presentation order.
FIRST, SECOND, TIE, BOTH_BAD = 1, 2, 3, 4


@dataclass(frozen=True)
class CanonicalAnswer:
    """An answer in the task's own terms. `slot` is set where a question is asked of each candidate."""

    question: str
    slot: int | None = None
    choice: int | None = None
    value: float | None = None
    confidence: float | None = None
    text: str = ""


def check_answers(
    protocol: Protocol,
    *,
    answers: Sequence[Mapping[str, Any]],
    codes: Sequence[str],
    comment: str,
    n_candidates: int,
) -> list[FieldProblem]:
    """Every fault of an answer set, in the order of its parts; empty when it can be stored."""
    problems: list[FieldProblem] = []
    seen: set[tuple[str, int | None]] = set()
    for index, answer in enumerate(answers):
        where = f"answers[{index}]"
        question = protocol.question(str(answer.get("question", "")))
        if question is None:
            known_questions = ", ".join(spec.key for spec in protocol.questions)
            problems.append(FieldProblem(f"{where}.question", f"This protocol asks {known_questions}."))
            continue
        position = answer.get("position")
        misplaced = _check_position(question, position, where, n_candidates)
        problems += misplaced
        if not misplaced:
            if (question.key, position) in seen:
                problems.append(FieldProblem(where, f"{question.key} is answered twice."))
            seen.add((question.key, position))
        problems += _check_content(question, answer, where)
    problems += _check_codes(protocol, codes)
    problems += _check_missing(protocol, seen, codes, n_candidates)
    if len(comment) > MAX_COMMENT:
        problems.append(FieldProblem("comment", f"The comment is longer than {MAX_COMMENT} characters."))
    return problems


def canonical_answers(
    protocol: Protocol, *, answers: Sequence[Mapping[str, Any]], presentation: Sequence[int]
) -> list[CanonicalAnswer]:
    """Undo the presentation order. The answers must have passed `check`; empty texts are left out."""
    result = []
    for answer in answers:
        question = protocol.question(str(answer["question"]))
        assert question is not None
        text = str(answer.get("text") or "").strip()
        if question.kind == "text" and not text:
            continue
        position = answer.get("position")
        value, confidence = answer.get("value"), answer.get("confidence")
        result.append(
            CanonicalAnswer(
                question=question.key,
                slot=presentation[position] if question.per_candidate and position is not None else None,
                choice=canonical_choice(str(answer["choice"]), presentation)
                if question.kind == "preference"
                else None,
                value=None if value is None else float(value),
                confidence=None if confidence is None else float(confidence),
                text=text,
            )
        )
    return result


def canonical_choice(choice: str, presentation: Sequence[int]) -> int:
    """'A' is whatever was shown first; the result names the slot, so that swapped showings agree."""
    if choice == "tie":
        return TIE
    if choice == "both_bad":
        return BOTH_BAD
    return FIRST if presentation[0 if choice == "A" else 1] == 0 else SECOND


def shown_choice(choice: int, presentation: Sequence[int]) -> str:
    """The inverse of `canonical_choice`: what the rater saw themselves choose."""
    if choice in (TIE, BOTH_BAD):
        return "tie" if choice == TIE else "both_bad"
    return "A" if presentation[0] == choice - 1 else "B"


def answer_as_shown(answer: CanonicalAnswer, presentation: Sequence[int]) -> dict[str, Any]:
    """The inverse of `canonical` for one answer: as the rater's page sent it, for sides and positions as shown."""
    parts = {
        "position": None if answer.slot is None else presentation.index(answer.slot),
        "choice": None if answer.choice is None else shown_choice(answer.choice, presentation),
        "value": answer.value,
        "confidence": answer.confidence,
        "text": answer.text or None,
    }
    return {"question": answer.question} | {name: part for name, part in parts.items() if part is not None}


def _check_position(
    question: QuestionSpec, position: object, where: str, n_candidates: int
) -> list[FieldProblem]:
    if not question.per_candidate:
        if position is None:
            return []
        return [
            FieldProblem(
                f"{where}.position", f"{question.key} is asked once, not per candidate; leave position out."
            )
        ]
    if isinstance(position, int) and not isinstance(position, bool) and 0 <= position < n_candidates:
        return []
    return [FieldProblem(f"{where}.position", f"Give the candidate's position, 0 to {n_candidates - 1}.")]


def _check_content(question: QuestionSpec, answer: Mapping[str, Any], where: str) -> list[FieldProblem]:
    if question.kind == "preference":
        return _check_choice(question, answer, where) + _check_confidence(question, answer, where)
    if question.kind in ("rating", "correctness"):
        return _check_value(question, answer, where) + _check_confidence(question, answer, where)
    return _check_text(question, answer, where)


def _check_choice(question: QuestionSpec, answer: Mapping[str, Any], where: str) -> list[FieldProblem]:
    if answer.get("choice") in question.choices:
        return []
    return [FieldProblem(f"{where}.choice", f"Choose one of {', '.join(question.choices)}.")]


def _check_value(question: QuestionSpec, answer: Mapping[str, Any], where: str) -> list[FieldProblem]:
    value = answer.get("value")
    if not _is_number(value):
        return [FieldProblem(f"{where}.value", "Give a number.")]
    assert isinstance(value, int | float)
    if question.values and float(value) not in question.values:
        return [FieldProblem(f"{where}.value", f"{value} is not on the scale {_listed(question.values)}.")]
    low, high = question.minimum, question.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        return [FieldProblem(f"{where}.value", f"{value} is outside {low} to {high}.")]
    return []


def _check_confidence(question: QuestionSpec, answer: Mapping[str, Any], where: str) -> list[FieldProblem]:
    value, spec = answer.get("confidence"), question.confidence
    if spec is None:
        return (
            []
            if value is None
            else [FieldProblem(f"{where}.confidence", f"{question.key} asks for no confidence.")]
        )
    if value is None:
        if not spec.required:
            return []
        return [FieldProblem(f"{where}.confidence", f"Say how sure you are: {_listed(spec.values)}.")]
    if _is_number(value) and float(value) in spec.values:
        return []
    return [FieldProblem(f"{where}.confidence", f"{value!r} is not on the scale {_listed(spec.values)}.")]


def _check_text(question: QuestionSpec, answer: Mapping[str, Any], where: str) -> list[FieldProblem]:
    text = answer.get("text")
    if not isinstance(text, str):
        return [FieldProblem(f"{where}.text", "Give a text.")]
    if question.required and not text.strip():
        return [FieldProblem(f"{where}.text", "Write at least one sentence.")]
    if len(text) > question.max_length:
        return [FieldProblem(f"{where}.text", f"The text is longer than {question.max_length} characters.")]
    return []


def _check_codes(protocol: Protocol, codes: Sequence[str]) -> list[FieldProblem]:
    known_codes = protocol.code_keys
    problems = [
        FieldProblem(
            f"codes[{i}]",
            f"{code!r} is not one of {', '.join(known_codes) or 'any code: this protocol has none'}.",
        )
        for i, code in enumerate(codes)
        if code not in known_codes
    ]
    if len(set(codes)) != len(codes):
        problems.append(FieldProblem("codes", "A code is given twice."))
    return problems


def _check_missing(
    protocol: Protocol, seen: set[tuple[str, int | None]], codes: Sequence[str], n_candidates: int
) -> list[FieldProblem]:
    problems = []
    for question in protocol.questions:
        if not question.required or set(codes) & set(question.excused_by):
            continue
        positions: Sequence[int | None] = range(n_candidates) if question.per_candidate else (None,)
        if missing := [position for position in positions if (question.key, position) not in seen]:
            which = f" for position {_listed(missing)}" if question.per_candidate else ""
            excuse = f", or give code {' or '.join(question.excused_by)}" if question.excused_by else ""
            problems.append(
                FieldProblem("answers", f"{question.key} is not answered{which}; answer it{excuse}.")
            )
    return problems


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _listed(values: Sequence[object]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
