"""From a metric's name and settings to the metric itself. Nothing of a model is loaded before `open_metric`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from scoring.metrics.catalogue import ENTRIES
from scoring.metrics.contract import Metric
from scoring.metrics.entries import Entry, Option


@dataclass(frozen=True)
class Workplace:
    """What a machine lends to metrics: where features are kept between runs and how many bytes of them, which device
    ("auto", "cpu", "cuda", "cuda:1") to compute on, and in which folder weights lie that are no hub's."""

    cache: Path
    cache_bytes: int
    device: str = "auto"
    checkpoints: Path | None = None


class OptionError(Exception):
    """A setting cannot be used; the message says why."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option
        self.message = message


METRICS: dict[str, Entry] = {entry.name: entry for entry in ENTRIES}


def entry(name: str) -> Entry:
    if name not in METRICS:
        raise OptionError("scorer", f"there is no scorer {name!r}; there are {', '.join(sorted(METRICS))}")
    return METRICS[name]


def validated(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a metric, defaults filled in. Texts are accepted where numbers, flags and lists are wanted, as
    forms and command lines write them. Raises OptionError."""
    found = checked(entry(name).options, given, of=name)
    if entry(name).checks:
        _named(entry(name).checks)(found)
    return found


def checked(options: Sequence[Option], given: Mapping[str, Any], *, of: str) -> dict[str, Any]:
    """Given values for these options, each read as its kind wants it, defaults filled in. Raises OptionError."""
    known = {option.name: option for option in options}
    for option in given:
        if option not in known:
            raise OptionError(option, f"{of} has no such option; it has {', '.join(known) or 'none'}")
    return {option.name: _value(option, given.get(option.name)) for option in known.values()}


def open_metric(name: str, options: Mapping[str, Any], workplace: Workplace) -> Metric:
    """Load a metric and its weights. Raises OptionError, SetupError."""
    opens: Callable[[Mapping[str, Any], Workplace], Metric] = _named(entry(name).opens)
    return opens(validated(name, options), workplace)


def _named(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)


def _value(option: Option, given: Any) -> Any:
    if given in (None, "", [], {}):
        if option.required:
            raise OptionError(option.name, "is missing")
        return option.default
    return _READERS[option.kind](option, given)


def _text(option: Option, given: Any) -> str:
    if not isinstance(given, str):
        raise OptionError(option.name, "must be a text")
    return given.strip()


def _texts(option: Option, given: Any) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise OptionError(option.name, "must be a list of texts, or texts with commas between them")
    return [part.strip() for part in parts if part.strip()]


def _number(option: Option, given: Any) -> int:
    try:
        if isinstance(given, bool | float):
            raise ValueError
        return int(given)
    except (TypeError, ValueError):
        raise OptionError(option.name, f"{given!r} is not a whole number") from None


def _decimal(option: Option, given: Any) -> float:
    try:
        if isinstance(given, bool):
            raise ValueError
        found = float(given)
    except (TypeError, ValueError):
        raise OptionError(option.name, f"{given!r} is not a number") from None
    if not math.isfinite(found):
        raise OptionError(option.name, f"{given!r} is not a number")
    return found


def _choice(option: Option, given: Any) -> str:
    if given not in option.choices:
        raise OptionError(option.name, f"{given!r} is not one of {', '.join(option.choices)}")
    return str(given)


def _flag(option: Option, given: Any) -> bool:
    words = {True: True, False: False, "true": True, "yes": True, "1": True, "on": True}
    words |= {"false": False, "no": False, "0": False, "off": False}
    found = words.get(given.lower() if isinstance(given, str) else given)
    if found is None:
        raise OptionError(option.name, f"{given!r} is not a yes or no")
    return found


def _table(option: Option, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise OptionError(option.name, "must be a table, as parsed from a prompt file")
    return dict(given)


_READERS: dict[str, Callable[[Option, Any], Any]] = {
    "text": _text,
    "texts": _texts,
    "number": _number,
    "decimal": _decimal,
    "choice": _choice,
    "flag": _flag,
    "table": _table,
}
