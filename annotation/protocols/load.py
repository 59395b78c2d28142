"""Protocol definitions: presets from TOML, validation of every field. Each fault names its place in the definition."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from annotation.protocols.schema import (
    NO_TEXT,
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

# Fields of a definition: the right type, or a ProtocolError with its place.


Row = Mapping[str, Any]


def check_keys(row: object, where: str, allowed: Iterable[str]) -> None:
    """The row is a table of these fields and no others."""
    if not isinstance(row, Mapping):
        raise ProtocolError(where, "must be a table")
    if unknown := set(row) - set(allowed):
        raise ProtocolError(where, f"{', '.join(sorted(map(str, unknown)))}: not known here")


def read_rows(row: Row, name: str, where: str) -> list[tuple[Any, str]]:
    """A list's elements, each with its own place."""
    value = row.get(name, [])
    if not isinstance(value, list | tuple):
        raise ProtocolError(_at(where, name), "must be a list")
    return [(element, f"{_at(where, name)}[{i}]") for i, element in enumerate(value)]


def read_names(row: Row, name: str, where: str, *, of: Iterable[str], what: str) -> tuple[str, ...]:
    """A list of names, each once and each one of `of`."""
    found = [element for element, _ in read_rows(row, name, where)]
    known = list(of)
    if unknown := [element for element in found if element not in known]:
        raise ProtocolError(_at(where, name), f"{unknown} are not {what}; use {', '.join(known) or 'none'}")
    check_unique(found, _at(where, name))
    return tuple(found)


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


def read_flag(row: Row, name: str, where: str, *, default: bool) -> bool:
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
    check_keys(definition, "protocol", Protocol.__dataclass_fields__.keys() - {"_by_key"})
    layout = read_choice(definition, "layout", tuple(LAYOUTS), "")
    codes = tuple(_code(row, where) for row, where in read_rows(definition, "codes", ""))
    check_unique((code.key for code in codes), "codes")
    skip_reasons = tuple(_code(row, where) for row, where in read_rows(definition, "skip_reasons", ""))
    check_unique((reason.key for reason in skip_reasons), "skip_reasons")
    return Protocol(
        key=read_key({"key": "custom", **definition}, "", longest=40),
        title=read_text(definition, "title", ""),
        layout=layout,
        candidates=_candidates(definition, layout),
        candidate=read_choice(definition, "candidate", ("clip", "text"), ""),
        guidelines=read_text(definition, "guidelines", ""),
        content=read_names(definition, "content", "", of=CONTENT_FIELDS, what="item fields"),
        added=_added(definition, layout),
        questions=_questions(definition, layout, codes),
        codes=codes,
        comment=read_flag(definition, "comment", "", default=False),
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


def _question(row: Mapping[str, Any], where: str, *, codes: list[str]) -> QuestionSpec:
    check_keys(row, where, QuestionSpec.__dataclass_fields__.keys())
    key = read_key(row, where, longest=40)
    if not KEY_PATTERN.match(key):
        raise ProtocolError(f"{where}.key", f"{key!r} must be lower-case letters, digits and _, up to 40")
    if row.get("kind") == "events":
        raise ProtocolError(f"{where}.kind", "'events' cannot be answered yet; use another kind of question")
    kind = read_choice(row, "kind", QUESTION_KINDS, where)
    level = read_choice(row, "level", LEVELS, where, default="")
    points = _points(row, where)
    minimum, maximum = _range(row, where, needed=kind in SCALED and not points)
    per_candidate = read_flag(row, "per_candidate", where, default=False)
    if kind == "preference" and per_candidate:
        raise ProtocolError(f"{where}.per_candidate", "a preference is between candidates, not of each")
    return QuestionSpec(
        key=key,
        kind=kind,
        title=read_text(row, "title", where),
        help=read_text(row, "help", where, default=NO_TEXT),
        level=level,
        required=read_flag(row, "required", where, default=True),
        excused_by=read_names(row, "excused_by", where, of=codes, what="codes of it"),
        per_candidate=per_candidate,
        tie=read_flag(row, "tie", where, default=False),
        both_bad=read_flag(row, "both_bad", where, default=False),
        points=points,
        minimum=minimum,
        maximum=maximum,
        bands=_bands(row, where, minimum, maximum),
        confidence=_confidence(row["confidence"], f"{where}.confidence") if "confidence" in row else None,
        max_length=read_count(row, "max_length", where, default=2000),
    )


def _range(row: Mapping[str, Any], where: str, *, needed: bool) -> tuple[float | None, float | None]:
    minimum, maximum = read_number(row, "minimum", where), read_number(row, "maximum", where)
    if needed and (minimum is None or maximum is None):
        raise ProtocolError(where, "a scale needs either points or a minimum and a maximum")
    if minimum is not None and maximum is not None and minimum >= maximum:
        raise ProtocolError(f"{where}.minimum", f"{minimum:g} is not below the maximum, {maximum:g}")
    return minimum, maximum


def _bands(
    row: Mapping[str, Any], where: str, minimum: float | None, maximum: float | None
) -> tuple[Band, ...]:
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


def _band(row: Mapping[str, Any], where: str) -> Band:
    check_keys(row, where, Band.__dataclass_fields__.keys())
    minimum, maximum = read_number(row, "minimum", where), read_number(row, "maximum", where)
    if minimum is None or maximum is None:
        raise ProtocolError(where, "needs a minimum and a maximum")
    return Band(minimum, maximum, read_text(row, "label", where))


def _confidence(row: Mapping[str, Any], where: str) -> ConfidenceSpec:
    check_keys(row, where, ConfidenceSpec.__dataclass_fields__.keys())
    points = _points(row, where)
    if not points:
        raise ProtocolError(f"{where}.points", "there are none")
    return ConfidenceSpec(
        title=read_text(row, "title", where),
        points=points,
        required=read_flag(row, "required", where, default=True),
    )


def _points(row: Mapping[str, Any], where: str) -> tuple[Point, ...]:
    points = tuple(_point(point, at) for point, at in read_rows(row, "points", where))
    check_unique((point.value for point in points), f"{where}.points")
    return points


def _point(row: Mapping[str, Any], where: str) -> Point:
    check_keys(row, where, Point.__dataclass_fields__.keys())
    value = read_number(row, "value", where)
    if value is None:
        raise ProtocolError(f"{where}.value", "is missing")
    return Point(
        value=value,
        label=read_text(row, "label", where, default=NO_TEXT),
        meaning=read_text(row, "meaning", where, default=NO_TEXT),
    )


def _code(row: Mapping[str, Any], where: str) -> CodeSpec:
    check_keys(row, where, CodeSpec.__dataclass_fields__.keys())
    return CodeSpec(
        key=read_key(row, where, longest=16),
        title=read_text(row, "title", where),
        meaning=read_text(row, "meaning", where, default=NO_TEXT),
    )


def _listening(definition: Mapping[str, Any]) -> ListeningSpec:
    """Clips that are judged have to be heard, unless the definition says otherwise; an item's own clips need not."""
    judged = ["candidates"] if definition.get("candidate") == "clip" else []
    row = definition.get("listening", {"must_hear": judged})
    check_keys(row, "listening", ListeningSpec.__dataclass_fields__.keys())
    audible = judged + [name for name in CLIP_FIELDS if name in definition.get("content", [])]
    what = "clips that this protocol shows"
    return ListeningSpec(read_names(row, "must_hear", "listening", of=audible, what=what))


def _glossary(row: Mapping[str, Any], where: str) -> GlossaryRow:
    check_keys(row, where, GlossaryRow.__dataclass_fields__.keys())
    return GlossaryRow(
        read_text(row, "dimension", where),
        _read_texts(row, "positive", where),
        _read_texts(row, "negative", where),
    )


def _read_texts(row: Mapping[str, Any], name: str, where: str) -> tuple[Text, ...]:
    return tuple(parse_text(word, at) for word, at in read_rows(row, name, where))


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
