"""JSON as its standard has it, read so that nothing is lost on the way and every fault says what mends it.

Python's own reader takes NaN, and keeps the last of two values under one key; the fast one rounds numbers beyond 64
bits.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import orjson

BEYOND_64_BITS = 9e18
KEY_END = re.compile(rb'"[ \t\r\n]*:')


class Fault(ValueError):
    """What is wrong with a text that should be JSON, as it is told to a person."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


TOO_DEEP = Fault("is nested too deeply", "Write texts and numbers, not lists within lists.")


def loads(raw: bytes) -> Any:
    """One JSON value. Raises Fault, and UnicodeDecodeError for bytes that are not UTF-8."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _loads_slowly(raw)
    return value if _is_safe(value, raw) else _loads_slowly(raw)


def _is_safe(value: Any, raw: bytes) -> bool:
    """Whether the fast reader can have lost nothing: no more keys than it kept, no number that it may have rounded."""
    if not isinstance(value, dict):
        return False
    # Every key ends in a quote and a colon; where no more of these stand than keys were kept, none was there twice.
    if len(value) != raw.count(b":") and len(value) != len(KEY_END.findall(raw)):
        return False
    return not any(isinstance(one, (float, list)) and _is_large(one) for one in value.values())


def _is_large(value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_large(one) for one in value)
    return isinstance(value, float) and abs(value) > BEYOND_64_BITS


def _loads_slowly(raw: bytes) -> Any:
    text = raw.decode()
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        remedy = "Write one JSON object per line."
        if "\r" in text.strip():
            remedy = "End lines with a line feed: these end in carriage returns alone."
        # A line has no lines within: where it breaks off is told by its character alone.
        raise Fault(f"is not JSON: {error.msg}: character {error.pos + 1}", remedy) from None
    except (ValueError, RecursionError) as error:
        raise as_fault(error) from None


def as_fault(error: Exception) -> Fault:
    """What Python's reader says of a number, or of a depth, that is too much for it."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, RecursionError):
        return TOO_DEEP
    return Fault("holds a number of thousands of digits", "Put it in quotes if it is a name.")


def decoder() -> json.JSONDecoder:
    """For values inside a longer text. Its errors are made readable by `as_fault`."""
    return json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise Fault(f"names {doubled!r} twice", "Keep one of the two values.")
    return found


def _refuse(constant: str) -> NoReturn:
    raise Fault(f"holds {constant}, which is no JSON number", "Write null, or leave it out.")
