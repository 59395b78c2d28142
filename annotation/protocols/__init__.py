"""Protocols as data: what a study asks, read from TOML (the presets here) or from a stored definition, every field of
which is validated. Each fault names its place in the definition.

A pure island: no Django. `preset(key)` reads a shipped preset, `parse(definition)` checks any definition.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib import resources
from typing import Any

from annotation.protocols.schema import (
    Band,
    CodeSpec,
    ConfidenceSpec,
    GlossaryRow,
    ListeningSpec,
    Point,
    Protocol,
    ProtocolError,
    QuestionSpec,
    Text,
)

__all__ = [
    "Band",
    "CodeSpec",
    "ConfidenceSpec",
    "GlossaryRow",
    "ListeningSpec",
    "Point",
    "Protocol",
    "ProtocolError",
    "QuestionSpec",
    "Text",
    "definition_of_preset",
    "parse",
    "preset",
    "preset_keys",
]

# Fields of a definition: the right type, or a ProtocolError with its place.


Row = Mapping[str, Any]


def read_plain(part: Any, row: Row, where: str) -> dict[str, Any]:
    """The texts and flags of a part of a protocol, by the types and defaults of its fields. The row is a table of these
    fields and no others."""
    if not isinstance(row, Mapping):
        raise ProtocolError(where, "must be a table")
    allowed = {field.name: field for field in fields(part) if field.init}
    if unknown := set(row) - set(allowed):
        raise ProtocolError(where, f"{', '.join(sorted(map(str, unknown)))}: not known here")
    readers: dict[Any, Callable[..., Any]] = {"Text": read_text, "bool": read_flag}
    defaults = {name: None if field.default is MISSING else field.default for name, field in allowed.items()}
    within = "" if part is Protocol else where
    return {
        name: readers[field.type](row, name, within, default=defaults[name])
        for name, field in allowed.items()
        if field.type in readers
    }


def read_rows(row: Row, name: str, where: str) -> list[tuple[Any, str]]:
    """A list's elements, each with its own place."""
    value = row.get(name, [])
    if not isinstance(value, list | tuple):
        raise ProtocolError(_at(where, name), "must be a list")
    return [(element, f"{_at(where, name)}[{i}]") for i, element in enumerate(value)]


def read_names(row: Row, name: str, where: str, *, of: Iterable[str], what: str) -> tuple[str, ...]:
    """A list of names, each once and each one of `of`."""
    names = [element for element, _ in read_rows(row, name, where)]
    known = list(of)
    if unknown := [element for element in names if element not in known]:
        raise ProtocolError(_at(where, name), f"{unknown} are not {what}; use {', '.join(known) or 'none'}")
    check_unique(names, _at(where, name))
    return tuple(names)


def read_text(row: Row, name: str, where: str, *, default: Text | None = None) -> Text:
    if name not in row:
        if default is None:
            raise ProtocolError(_at(where, name), "is missing")
        return default
    return parse_text(row[name], _at(where, name))


def parse_text(value: object, where: str) -> Text:
    if isinstance(value, str):
        return Text({"en": value.strip()})
    if isinstance(value, Mapping) and "en" in value and all(isinstance(v, str) for v in value.values()):
        return Text({str(language): str(text).strip() for language, text in value.items()})
    raise ProtocolError(where, 'must be a text, or a table of texts by language that has "en"')


def read_key(row: Row, where: str, *, longest: int) -> str:
    value = row.get("key")
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise ProtocolError(_at(where, "key"), f"must be a text of 1 to {longest} characters")
    return value


def read_choice(
    row: Row, name: str, allowed: tuple[str, ...], where: str, *, default: str | None = None
) -> str:
    value = row.get(name, default)
    if value not in allowed:
        raise ProtocolError(
            _at(where, name), f"{value!r} is not one of {', '.join(repr(a) for a in allowed)}"
        )
    return str(value)


def read_flag(row: Row, name: str, where: str, *, default: bool | None) -> bool:
    value = row.get(name, default)
    if not isinstance(value, bool):
        raise ProtocolError(_at(where, name), "must be true or false")
    return value


def read_number(row: Row, name: str, where: str) -> float | None:
    """A finite number, or None where the field is left out."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProtocolError(_at(where, name), "must be a number")
    return float(value)


def read_count(row: Row, name: str, where: str, *, default: int) -> int:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ProtocolError(_at(where, name), "must be a whole number from 1")
    return value


def check_unique(values: Iterable[object], where: str) -> None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise ProtocolError(where, f"{value!r} stands there twice")
        seen.add(value)


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


# The fewest and the most candidates that a layout can show.
LAYOUTS = {"rating": (1, 1), "comparison": (2, 2), "abx": (2, 2), "panel": (1, 26)}
SIDED = ("comparison", "abx")
QUESTION_KINDS = ("preference", "rating", "correctness", "text")
MEASURED = ("preference", "rating", "correctness")
SCALED = ("rating", "correctness")
LEVELS = ("nominal", "ordinal", "interval", "ratio", "")
CONTENT_FIELDS = (
    "prompt",
    "lyrics",
    "reference_clip",
    "question",
    "reference",
    "rationale",
    "transcript",
    "clip",
)
ADDED_CANDIDATES = ("hidden_reference", "anchor_3500", "anchor_7000")
CLIP_FIELDS = ("reference_clip", "clip")
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")


def preset_keys() -> list[str]:
    files = resources.files("annotation.protocols").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def definition_of_preset(key: str) -> dict[str, Any]:
    if key not in preset_keys():
        raise ProtocolError("preset", f"{key!r} is not one of {', '.join(preset_keys())}")
    text = resources.files("annotation.protocols").joinpath(f"{key}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def preset(key: str) -> Protocol:
    return parse(definition_of_preset(key))


def parse(definition: Mapping[str, Any]) -> Protocol:
    """Check a definition and turn it into a Protocol. Raises ProtocolError at the first fault."""
    plain = read_plain(Protocol, definition, "protocol")
    layout = read_choice(definition, "layout", tuple(LAYOUTS), "")
    codes = tuple(_code(row, where) for row, where in read_rows(definition, "codes", ""))
    check_unique((code.key for code in codes), "codes")
    skip_reasons = tuple(_code(row, where) for row, where in read_rows(definition, "skip_reasons", ""))
    check_unique((reason.key for reason in skip_reasons), "skip_reasons")
    return Protocol(
        key=read_key({"key": "custom", **definition}, "", longest=40),
        **plain,
        layout=layout,
        candidates=_candidates(definition, layout),
        candidate=read_choice(definition, "candidate", ("clip", "text"), ""),
        content=read_names(definition, "content", "", of=CONTENT_FIELDS, what="item fields"),
        added=_added(definition, layout),
        questions=_questions(definition, layout, codes),
        codes=codes,
        listening=_listening(definition),
        glossary=tuple(_glossary(row, where) for row, where in read_rows(definition, "glossary", "")),
        skip_reasons=skip_reasons,
        source=str(definition.get("source", "")),
    )


def _questions(
    definition: Mapping[str, Any], layout: str, codes: tuple[CodeSpec, ...]
) -> tuple[QuestionSpec, ...]:
    known = [code.key for code in codes]
    questions = []
    for row, where in read_rows(definition, "questions", ""):
        questions.append(question := _question(row, where, codes=known))
        _check_sides(question, layout, where)
    if not questions:
        raise ProtocolError("questions", "there are none; a protocol asks at least one")
    check_unique((question.key for question in questions), "questions")
    return tuple(questions)


def _check_sides(question: QuestionSpec, layout: str, where: str) -> None:
    """A preference is between two. In an ABX test it names the one that X is, which every showing draws anew."""
    if question.kind == "preference" and layout not in SIDED:
        raise ProtocolError(f"{where}.kind", f"a preference needs the layout {' or '.join(map(repr, SIDED))}")
    if question.kind == "preference" and layout == "abx":
        if question.level or question.tie or question.both_bad:
            raise ProtocolError(where, "X is A or B: an abx question has no tie, no both_bad and no level")
    elif question.kind in MEASURED and not question.level:
        known = ", ".join(filter(None, LEVELS))
        raise ProtocolError(f"{where}.level", f"is missing; use one of {known}")
    if question.per_candidate and layout == "abx":
        raise ProtocolError(
            f"{where}.per_candidate", "X is one of the two: rating all three would give it away"
        )


def _question(row: Row, where: str, *, codes: list[str]) -> QuestionSpec:
    plain = read_plain(QuestionSpec, row, where)
    key = read_key(row, where, longest=40)
    if not KEY_PATTERN.match(key):
        raise ProtocolError(f"{where}.key", f"{key!r} must be lower-case letters, digits and _, up to 40")
    if row.get("kind") == "events":
        raise ProtocolError(f"{where}.kind", "'events' cannot be answered yet; use another kind of question")
    kind = read_choice(row, "kind", QUESTION_KINDS, where)
    level = read_choice(row, "level", LEVELS, where, default="")
    points = _points(row, where)
    minimum, maximum = _range(row, where, needed=kind in SCALED and not points)
    if kind == "preference" and plain["per_candidate"]:
        raise ProtocolError(f"{where}.per_candidate", "a preference is between candidates, not of each")
    return QuestionSpec(
        key=key,
        kind=kind,
        **plain,
        level=level,
        excused_by=read_names(row, "excused_by", where, of=codes, what="codes of it"),
        points=points,
        minimum=minimum,
        maximum=maximum,
        bands=_bands(row, where, minimum, maximum),
        confidence=_confidence(row["confidence"], f"{where}.confidence") if "confidence" in row else None,
        max_length=read_count(row, "max_length", where, default=2000),
    )


def _range(row: Row, where: str, *, needed: bool) -> tuple[float | None, float | None]:
    minimum, maximum = read_number(row, "minimum", where), read_number(row, "maximum", where)
    if needed and (minimum is None or maximum is None):
        raise ProtocolError(where, "a scale needs either points or a minimum and a maximum")
    if minimum is not None and maximum is not None and minimum >= maximum:
        raise ProtocolError(f"{where}.minimum", f"{minimum:g} is not below the maximum, {maximum:g}")
    return minimum, maximum


def _bands(row: Row, where: str, minimum: float | None, maximum: float | None) -> tuple[Band, ...]:
    bands = tuple(_band(band, at) for band, at in read_rows(row, "bands", where))
    if not bands:
        return ()
    if minimum is None or maximum is None:
        raise ProtocolError(f"{where}.bands", "need a scale with a minimum and a maximum")
    # As ordered by their edges they must tile the scale: every value then has one name.
    edges = sorted((band.minimum, band.maximum) for band in bands)
    reached = minimum
    for low, high in edges:
        if low != reached or high <= low:
            raise ProtocolError(f"{where}.bands", f"do not go on from {reached:g}, without gap or overlap")
        reached = high
    if reached != maximum:
        raise ProtocolError(f"{where}.bands", f"end at {reached:g}, the scale at {maximum:g}")
    return bands


def _band(row: Row, where: str) -> Band:
    plain = read_plain(Band, row, where)
    minimum, maximum = read_number(row, "minimum", where), read_number(row, "maximum", where)
    if minimum is None or maximum is None:
        raise ProtocolError(where, "needs a minimum and a maximum")
    return Band(minimum, maximum, **plain)


def _confidence(row: Row, where: str) -> ConfidenceSpec:
    plain = read_plain(ConfidenceSpec, row, where)
    points = _points(row, where)
    if not points:
        raise ProtocolError(f"{where}.points", "there are none")
    return ConfidenceSpec(points=points, **plain)


def _points(row: Row, where: str) -> tuple[Point, ...]:
    points = tuple(_point(point, at) for point, at in read_rows(row, "points", where))
    check_unique((point.value for point in points), f"{where}.points")
    return points


def _point(row: Row, where: str) -> Point:
    plain = read_plain(Point, row, where)
    value = read_number(row, "value", where)
    if value is None:
        raise ProtocolError(f"{where}.value", "is missing")
    return Point(value, **plain)


def _code(row: Row, where: str) -> CodeSpec:
    return CodeSpec(**read_plain(CodeSpec, row, where), key=read_key(row, where, longest=16))


def _listening(definition: Mapping[str, Any]) -> ListeningSpec:
    """Clips that are judged have to be heard, unless the definition says otherwise; an item's own clips need not."""
    judged = ["candidates"] if definition.get("candidate") == "clip" else []
    row = definition.get("listening", {"must_hear": judged})
    read_plain(ListeningSpec, row, "listening")
    audible = judged + [name for name in CLIP_FIELDS if name in definition.get("content", [])]
    what = "clips that this protocol shows"
    return ListeningSpec(read_names(row, "must_hear", "listening", of=audible, what=what))


def _glossary(row: Row, where: str) -> GlossaryRow:
    plain = read_plain(GlossaryRow, row, where)
    positive, negative = (
        tuple(parse_text(word, at) for word, at in read_rows(row, name, where))
        for name in ("positive", "negative")
    )
    return GlossaryRow(**plain, positive=positive, negative=negative)


def _candidates(definition: Mapping[str, Any], layout: str) -> tuple[int, int]:
    fewest, most = LAYOUTS[layout]
    stated = [
        number for number, _ in read_rows({"candidates": [fewest, most], **definition}, "candidates", "")
    ]
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in stated)
    if not whole or len(stated) != 2 or not fewest <= stated[0] <= stated[1] <= most:
        raise ProtocolError(
            "candidates", f"{stated} is not a fewest and a most within [{fewest}, {most}] of a {layout}"
        )
    return stated[0], stated[1]


def _added(definition: Mapping[str, Any], layout: str) -> tuple[str, ...]:
    added = read_names(
        definition, "added", "", of=ADDED_CANDIDATES, what="candidates that an import can make"
    )
    shows_reference = "reference_clip" in definition.get("content", [])
    if added and not (layout == "panel" and definition.get("candidate") == "clip" and shows_reference):
        raise ProtocolError("added", "needs a panel of clips whose items show a reference_clip")
    return added
