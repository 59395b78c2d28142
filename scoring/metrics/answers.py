"""Reading what a model was asked to write. Strictly: an answer that is not in the format is counted, never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scoring.metrics.contract import ExampleError

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?\Z")
_SHOWN = 200


@dataclass(frozen=True)
class AnswerLine:
    """The one line that counts in an answer: a label, a colon and a value, as "Score: 7".

    `form` is how the prompt writes it; `value` turns what follows the colon into a number, None where it cannot.
    """

    label: str
    form: str
    value: Callable[[str], float | None]


def number_line(label: str, *, low: float, high: float) -> AnswerLine:
    """A number on a scale, both ends included; between the labelled points and with a fraction, too."""

    def value(text: str) -> float | None:
        given = float(text) if _NUMBER.match(text) else None
        return given if given is not None and low <= given <= high else None

    return AnswerLine(label, f"{label}: <number from {low:g} to {high:g}>", value)


def choice_line(label: str, values: Mapping[str, float]) -> AnswerLine:
    """One of a few words. Their case is free: the papers' own prompts write both "Preferred" and "preferred"."""
    return AnswerLine(label, f"{label}: <{' or '.join(values)}>", lambda text: values.get(text.lower()))


def read(answer: str, line: AnswerLine) -> float:
    """The value of the answer's line. Raises ExampleError `unparsable`.

    The line stands on its own, anywhere in the answer; it may be repeated, but not with another value. Spaces around it
    and asterisks for bold type are passed over: models put them there as typography, and nothing else can be meant.
    """
    lines = [text.replace("**", "").strip() for text in answer.splitlines()]
    head = f"{line.label}:"
    values = {line.value(text.removeprefix(head).strip()) for text in lines if text.startswith(head)}
    if not values:
        raise _unparsable(answer, f"has no line “{line.form}”")
    read_values = [value for value in values if value is not None]
    if len(read_values) < len(values):
        raise _unparsable(answer, f"has a line that is not “{line.form}”")
    if len(read_values) > 1:
        raise _unparsable(answer, f"gives more than one “{line.form}”")
    return read_values[0]


def cut_off(answer: str) -> ExampleError:
    """For an answer that was stopped before its end: "Score: 1" may have been to become "Score: 10"."""
    return _unparsable(answer, "was cut off before its end, at the most tokens that a model may write")


def _unparsable(answer: str, what: str) -> ExampleError:
    shown = " ".join(answer[:_SHOWN].split())
    return ExampleError("unparsable", f"The answer {what}. It begins: “{shown}”")
