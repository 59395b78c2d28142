"""What the controls of other annotation tools ask, in terms of a protocol, and what their labels say.

A control is known by its name: a question's key (with a candidate's letter, `correct_a`, where it is asked of each),
such a key and `_confidence`, `codes` or `comment`. One of another name is what it is mapped to, or, where its kind
leaves no doubt, the only question of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.importers.columns import letters
from annotation.protocols import Protocol, QuestionSpec

CONTROL = "control."
CONFIDENCE = "_confidence"
COMMENT = {"comment", "comments", "feedback", "remark", "remarks", "note", "notes"}
# Kinds of controls, and the kinds of questions that each can answer.
ANSWERS = {
    "pairwise": {"preference"},
    "choices": {"preference", "rating", "correctness"},
    "rating": {"rating", "correctness"},
    "number": {"rating", "correctness"},
    "text": {"text"},
}
SIDES = {
    "A": {"a", "left", "first", "1", "model_a", "option 1"},
    "B": {"b", "right", "second", "2", "model_b", "option 2"},
    "tie": {"tie", "equal", "same", "both", "both equal", "no preference", "about the same", "draw"},
    "both_bad": {"both_bad", "neither", "both bad", "both are bad"},
}
SAYS = {label: side for side, labels in SIDES.items() for label in labels}
# Around a side's letter in labels such as "Audio A" or "A is better".
AROUND = re.compile(r"^(?:audio|clip|sound|answer|candidate|sample|model|option) | (?:is |sounds )?better$")
NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:$|[-–—:.)=(]|\s)")


@dataclass(frozen=True)
class Part:
    """The part of an answer that a control gives: a `field` of the table, for a question and a candidate's letter."""

    field: str
    question: str = ""
    candidate: str = ""


LEFT_OUT = Part("")


class Controls:
    """The controls of one source, each with the part of an answer that it gives."""

    def __init__(self, protocol: Protocol, column_map: Mapping[str, str]) -> None:
        self.protocol = protocol
        self.mapped = {
            column.removeprefix(CONTROL): target
            for column, target in column_map.items()
            if column.startswith(CONTROL)
        }
        self.seen: set[str] = set()
        # Controls whose kind alone told what they answer.
        self.guessed: dict[str, str] = {}
        self._known = _names(protocol)

    def part(self, name: str, kind: str = "") -> Part | None:
        """None where nothing says what a control is about."""
        self.seen.add(name)
        if name in self.mapped:
            target = self.mapped[name]
            return self._known.get(target) if target else LEFT_OUT
        lowered = name.casefold()
        return self._known.get(lowered) or self._only(kind, name)

    def is_one(self, name: str) -> bool:
        """Whether a name alone tells that it is a control's, in files that do not say what is one."""
        return name in self.mapped or name.casefold() in self._known

    def unseen(self) -> list[str]:
        return sorted(set(self.mapped) - self.seen)

    @property
    def names(self) -> str:
        """What a control can be mapped to."""
        return ", ".join(dict.fromkeys(name for name in self._known if name not in COMMENT - {"comment"}))

    def _only(self, kind: str, name: str) -> Part | None:
        fitting = [
            question
            for question in self.protocol.questions
            if question.kind in ANSWERS.get(kind, ()) and not question.per_candidate
        ]
        if len(fitting) == 1 and not self._another_names(fitting[0]):
            self.guessed[name] = fitting[0].key
            return Part("value", fitting[0].key)
        return Part("comment") if kind == "text" and not fitting else None

    def _another_names(self, question: QuestionSpec) -> bool:
        """Whether a control that was met names the question: then one of another name asks something else."""
        return any(self._known.get(name.casefold()) == Part("value", question.key) for name in self.seen)


def _names(protocol: Protocol) -> dict[str, Part]:
    names = {name: Part("comment") for name in sorted(COMMENT)}
    if protocol.codes:
        names["codes"] = Part("codes")
    for question in protocol.questions:
        asked = letters(protocol) if question.per_candidate else ""
        for letter in asked or [""]:
            name = f"{question.key}_{letter}" if letter else question.key
            names[name] = Part("value", question.key, letter)
            if question.confidence is not None:
                names[name + CONFIDENCE] = Part("confidence", question.key, letter)
    return names


def said(question: QuestionSpec | None, label: Any) -> str:
    """A label as the table writes that answer, or as it is where it says nothing known: the table refuses it."""
    text = f"{label:g}" if isinstance(label, float) else str(label).strip()
    if question is None or question.kind == "text":
        return text
    if question.kind == "preference":
        return SAYS.get(plain := text.casefold().replace("-", "_")) or SAYS.get(AROUND.sub("", plain)) or text
    for point in question.points:
        if text.casefold() in _written(point.label.by_language.values()):
            return f"{point.value:g}"
    number = NUMBER.match(text)
    return number[1] if number else text


def points(label: Any) -> str:
    """How sure somebody was, whatever words follow the number."""
    text = f"{label:g}" if isinstance(label, float) else str(label).strip()
    number = NUMBER.match(text)
    return number[1] if number else text


def _written(labels: Iterable[str]) -> set[str]:
    return {label.casefold() for label in labels if label}


def fits(question: QuestionSpec, text: str) -> bool:
    """Whether what was said can be an answer."""
    if question.kind == "preference":
        return text in question.choices
    if question.kind == "text":
        return True
    number = NUMBER.match(text)
    return number is not None and (not question.values or float(number[1]) in question.values)
