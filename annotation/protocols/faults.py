"""All faults of a definition at once, for whoever writes one: `parse` stops at the first."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from annotation.protocols import parse
from annotation.protocols.schema import ProtocolError

_MOST = 30
_ELEMENT = re.compile(r"(\w+)\[(\d+)\]")
# What stands in for a part with a fault while the others are looked at.
_PLACEHOLDERS = {
    "title": "x",
    "guidelines": "x",
    "layout": "rating",
    "candidate": "text",
    "content": [],
}


def faults(definition: Mapping[str, Any]) -> list[ProtocolError]:
    """One fault of each question, code and field at most; none where the definition can be used.

    A part with a fault is set aside, so that the others can be looked at. What refers to a part that was set aside is
    not called a fault of its own.
    """
    rest: dict[str, Any] = copy.deepcopy(dict(definition))
    numbers = {name: list(range(len(rows))) for name, rows in rest.items() if isinstance(rows, list)}
    errors: list[ProtocolError] = []
    aside: set[str] = set()
    for _ in range(_MOST):
        try:
            parse(rest)
        except ProtocolError as error:
            if not _refers_to(error, aside):
                errors.append(_at_home(error, numbers))
            if not _set_aside(rest, error, numbers, aside):
                break
        else:
            break
    return errors


def _refers_to(error: ProtocolError, aside: set[str]) -> bool:
    """A condition, an excuse or a whole list that would be in order with what was set aside."""
    refers = ".ask_if" in error.where or ".excused_by" in error.where or error.where == "questions"
    return bool(aside) and refers


def _at_home(error: ProtocolError, numbers: Mapping[str, list[int]]) -> ProtocolError:
    """The fault at its place in the definition as it was written."""
    match = _ELEMENT.match(error.where)
    if match is None or match[1] not in numbers or int(match[2]) >= len(numbers[match[1]]):
        return error
    home = f"{match[1]}[{numbers[match[1]][int(match[2])]}]{error.where[match.end() :]}"
    return ProtocolError(home, error.problem)


def _set_aside(
    rest: dict[str, Any], error: ProtocolError, numbers: dict[str, list[int]], aside: set[str]
) -> bool:
    """Take the part with the fault out of the definition; whether there was one that can be."""
    if match := _ELEMENT.match(error.where):
        name, index = match[1], int(match[2])
        rows = rest.get(name)
        if not isinstance(rows, list) or index >= len(rows):
            return False
        if name == "questions" and (".ask_if" in error.where or ".excused_by" in error.where):
            field = "ask_if" if ".ask_if" in error.where else "excused_by"
            rows[index].pop(field, None)
            return True
        del rows[index]
        numbers[name].pop(index)
        aside.add(name)
        return True
    name = error.where.partition(".")[0]
    if name in _PLACEHOLDERS and rest.get(name) != _PLACEHOLDERS[name]:
        rest[name] = _PLACEHOLDERS[name]
        # A question may not fit the layout that stands in.
        if name in ("layout", "candidate"):
            rest.pop("questions", None)
            aside.add("questions")
        return True
    if name in rest and name != "questions":
        del rest[name]
        aside.add(name)
        return True
    return False
