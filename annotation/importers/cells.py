"""Reading the answer columns of one row of a plain table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.importers.records import AnswerRecord, Audio, RowProblem
from annotation.protocols import Protocol, QuestionSpec
from annotation.rules.answers import BOTH_BAD, FIRST, SECOND, TIE

UNWRITTEN: dict[type, str] = {list: "a list", dict: "an object", bytes: "bytes"}
# Beyond it a float stands for many whole numbers.
LARGEST_WHOLE = 2.0**53


def cell(row: str, column: str, value: Any) -> str | Audio | RowProblem:
    """What a value says: a text, or the sound that a reader has made of it. Lists and objects say neither."""
    if value is None:
        return ""
    if isinstance(value, Audio):
        return value
    if kind := UNWRITTEN.get(type(value)):
        remedy = f'Write a text or a number, or leave the column out (--map "{column}=").'
        return RowProblem(row, column, f"holds {kind}", remedy)
    if isinstance(value, float):
        return _written(row, column, value)
    return str(value).strip()


def _written(row: str, column: str, value: float) -> str | RowProblem:
    """Ids that are numbers become floats wherever a column of them has a gap: 7.0 is still the id 7."""
    if not math.isfinite(value):
        remedy = "Write a number, or null where there is none."
        return RowProblem(row, column, f"holds {'NaN' if math.isnan(value) else value}", remedy)
    return str(int(value) if value.is_integer() and abs(value) <= LARGEST_WHOLE else value)


@dataclass(frozen=True)
class Cells:
    """One row's values by field name; what is not there is empty. Columns of audio may hold sounds at hand."""

    row: str
    values: Mapping[str, str | Audio]

    def __getitem__(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else value.name

    def sound(self, name: str) -> Audio | None:
        value = self.values.get(name, "")
        return None if isinstance(value, str) else value

    def problem(self, name: str, problem: str, remedy: str) -> RowProblem:
        return RowProblem(self.row, name, problem, remedy)


def read_answer(
    cells: Cells, protocol: Protocol, order: list[int], *, sides: Sequence[str]
) -> tuple[AnswerRecord | None, list[RowProblem]]:
    """The row's answer in the task's own terms; None where only codes or a comment are given.

    `order` holds the places of the row's candidates by slot, `sides` the letters of their columns by place.
    """
    if not cells["question"] and not cells["value"]:
        return None, []
    question = protocol.question(cells["question"])
    if question is None:
        known = ", ".join(spec.key for spec in protocol.questions)
        return None, [
            cells.problem("question", f"{cells['question']!r} is not asked here", f"Use one of {known}.")
        ]
    confidence, problems = _confidence(cells, question)
    slot, faults = _slot(cells, question, order, sides)
    problems += faults
    if question.kind == "text":
        return AnswerRecord(question.key, text=cells["value"], slot=slot), problems
    if question.kind == "preference":
        choice = _choice(cells["value"], order)
        if choice is None:
            problems.append(
                cells.problem(
                    "value", f"{cells['value']!r} is not a preference", "Use A, B, tie or both_bad."
                )
            )
        return AnswerRecord(question.key, choice=choice, confidence=confidence), problems
    value, faults = _value(cells, question)
    return AnswerRecord(question.key, value=value, confidence=confidence, slot=slot), problems + faults


def _slot(
    cells: Cells, question: QuestionSpec, order: list[int], sides: Sequence[str]
) -> tuple[int | None, list[RowProblem]]:
    """Which candidate a question that is asked of each is answered for."""
    said = cells["candidate"].lower()
    if not question.per_candidate:
        if not said:
            return None, []
        remedy = f"Leave the cell empty: {question.key} is asked once for the task."
        return None, [cells.problem("candidate", "is not asked for", remedy)]
    if len(order) == 1 and not said:
        return 0, []
    if said in sides:
        return order.index(sides.index(said)), []
    remedy = f"Use the letter of its columns: {', '.join(filter(None, sides))}."
    return None, [cells.problem("candidate", f"{said!r} is not a candidate of this row", remedy)]


def read_codes(cells: Cells, protocol: Protocol) -> tuple[tuple[str, ...], list[RowProblem]]:
    """Feedback codes, separated by blanks, commas or semicolons."""
    codes = sorted({code for code in re.split(r"[\s,;]+", cells["codes"]) if code})
    known = protocol.code_keys
    problems = [
        cells.problem(
            "codes",
            f"{code!r} is not one of the codes {', '.join(known) or '(this protocol has none)'}",
            "Mend the code.",
        )
        for code in codes
        if code not in known
    ]
    return tuple(codes), problems


def _choice(said: str, order: list[int]) -> int | None:
    match said.strip().lower():
        case "a":
            return FIRST if order[0] == 0 else SECOND
        case "b":
            return FIRST if order[0] == 1 else SECOND
        case "tie":
            return TIE
        case "both_bad":
            return BOTH_BAD
        case _:
            return None


def _value(cells: Cells, question: QuestionSpec) -> tuple[float | None, list[RowProblem]]:
    scale = (
        ", ".join(f"{value:g}" for value in question.values)
        or f"{question.minimum:g} to {question.maximum:g}"
    )
    value = _number(cells["value"])
    low, high = question.minimum, question.maximum
    inside = value is not None and (low is None or value >= low) and (high is None or value <= high)
    if value is None or (question.values and value not in question.values) or not inside:
        return None, [
            cells.problem("value", f"{cells['value']!r} is not on the scale {scale}", "Mend the value.")
        ]
    return value, []


def _confidence(cells: Cells, question: QuestionSpec) -> tuple[float | None, list[RowProblem]]:
    if not cells["confidence"]:
        return None, []
    if question.confidence is None:
        return None, [
            cells.problem("confidence", f"is not asked with {question.key}", "Leave the cell empty.")
        ]
    low, high = question.confidence.values[0], question.confidence.values[-1]
    value = _number(cells["confidence"])
    if value is None or not low <= value <= high:
        return None, [
            cells.problem(
                "confidence", f"{cells['confidence']!r} is not {low:g} to {high:g}", "Mend the confidence."
            )
        ]
    return value, []


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None
