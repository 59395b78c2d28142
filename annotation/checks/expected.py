"""Expected answers of checks: checked against the protocol, so that no task expects what nobody can answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.errors import FieldProblem
from annotation.protocols import Protocol, QuestionSpec
from annotation.rating.rules.answers import BOTH_BAD, FIRST, SECOND, TIE

# The answers of a preference: the task's candidates as listed, whichever side they are shown on.
CHOICES = {"first": FIRST, "second": SECOND, "tie": TIE, "both_bad": BOTH_BAD}
_SIDES = {"a": "first", "b": "second", "1": "first", "2": "second", "both bad": "both_bad"}
KEYED_KINDS = ("preference", "rating", "correctness", "choice")


@dataclass(frozen=True)
class ExpectedAnswer:
    """What a check expects of a question, in words: `first`, `second`, `tie` or `both_bad`, an option's key, or a
    number give or take `tolerance`. `explanation`: why, by language."""

    question: str
    answer: str
    tolerance: float = 0.0
    explanation: Mapping[str, str] = field(default_factory=dict)


def keyed_questions(protocol: Protocol) -> list[QuestionSpec]:
    """The questions of which an answer can be expected."""
    return [question for question in protocol.questions if question.kind in KEYED_KINDS]


def answers_of(question: QuestionSpec) -> tuple[str, ...]:
    """What a check may expect of a question, as `ExpectedAnswer.answer`; empty where it is any number of a scale."""
    if question.kind == "preference":
        offered = {"A": "first", "B": "second"}
        return tuple(offered.get(choice, choice) for choice in question.choices)
    if question.kind == "choice":
        return question.option_keys
    return tuple(f"{value:g}" for value in question.values)


def key_values(protocol: Protocol, expected: ExpectedAnswer, *, where: str) -> dict[str, Any] | FieldProblem:
    """The columns of a `GoldKey`, or what is wrong; `where` names the field."""
    question = protocol.question(expected.question)
    known = keyed_questions(protocol)
    if question is None or question not in known:
        names = ", ".join(one.key for one in known)
        problem = f"{expected.question!r} is no question with an expected answer."
        return FieldProblem(where, problem, f"Use {names}.")
    text, offered = expected.answer.strip(), answers_of(question)
    if question.kind in ("rating", "correctness"):
        return _number(question, expected, text, offered, where)
    if question.kind == "preference":
        text = _SIDES.get(text.lower(), text.lower())
    if text not in offered:
        problem = f"{question.key} has no answer {expected.answer!r}."
        return FieldProblem(where, problem, f"Use one of {', '.join(offered)}.")
    if question.kind == "preference":
        return _values(question, expected, choice=CHOICES[text])
    return _values(question, expected, value=float(offered.index(text) + 1))


def _number(
    question: QuestionSpec, expected: ExpectedAnswer, text: str, offered: Sequence[str], where: str
) -> dict[str, Any] | FieldProblem:
    try:
        value = float(text)
    except ValueError:
        return FieldProblem(
            where, f"{question.key} is answered by a number, not by {text!r}.", "Give a number."
        )
    lowest, highest = _ends(question)
    on_scale = value in question.values if question.values else lowest <= value <= highest
    if not on_scale:
        remedy = f"Use one of {', '.join(offered)}." if offered else f"Use {lowest:g} to {highest:g}."
        return FieldProblem(where, f"{value:g} is not on the scale of {question.key}.", remedy)
    if not 0 <= expected.tolerance < highest - lowest:
        text = f"A tolerance of {expected.tolerance:g} accepts every answer of {question.key}, or none."
        return FieldProblem(where, text, f"Use 0 to less than {highest - lowest:g}.")
    return _values(question, expected, value=value)


def _ends(question: QuestionSpec) -> tuple[float, float]:
    if question.values:
        return min(question.values), max(question.values)
    return question.minimum or 0.0, question.maximum if question.maximum is not None else 0.0


def _values(
    question: QuestionSpec, expected: ExpectedAnswer, *, choice: int | None = None, value: float | None = None
) -> dict[str, Any]:
    return {
        "question_key": question.key,
        "choice": choice,
        "value": value,
        "tolerance": expected.tolerance if value is not None else 0.0,
        "explanation": {lang: text.strip() for lang, text in expected.explanation.items() if text.strip()},
    }


_TOLERANCE = re.compile(r"\s*(?:±|\+-|\+/-)\s*")


def with_tolerance(question: str, text: str) -> ExpectedAnswer:
    """What a cell says, such as `4` or `4 ± 1`."""
    answer, *rest = _TOLERANCE.split(text.strip(), maxsplit=1)
    try:
        tolerance = float(rest[0]) if rest else 0.0
    except ValueError:
        return ExpectedAnswer(question, text)
    return ExpectedAnswer(question, answer, tolerance)
