"""Reading and checking definitions. Every fault is reported with the place it stands in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from annotation.protocols.schema import (
    NO_TEXT,
    CodeSpec,
    ConfidenceSpec,
    GlossaryRow,
    Point,
    Protocol,
    ProtocolError,
    QuestionSpec,
    Text,
)

LAYOUTS = {"rating": (1, 1), "comparison": (2, 2), "panel": (2, 26)}
KINDS = ("preference", "rating", "correctness", "events", "text")
LEVELS = ("nominal", "ordinal", "interval", "ratio", "")
CONTENT = ("prompt", "lyrics", "reference_clip", "question", "reference", "rationale", "transcript", "clip")
KEY = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")


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
    _only(definition, "protocol", Protocol.__dataclass_fields__.keys() - {"_by_key"})
    layout = _one_of(definition, "layout", tuple(LAYOUTS), "protocol")
    questions = tuple(
        _question(row, f"questions[{i}]") for i, row in enumerate(definition.get("questions", []))
    )
    if not questions:
        raise ProtocolError("questions", "there are none; a protocol asks at least one")
    codes = tuple(_code(row, f"codes[{i}]") for i, row in enumerate(definition.get("codes", [])))
    _unique((question.key for question in questions), "questions")
    _unique((code.key for code in codes), "codes")
    known = {code.key for code in codes}
    for question in questions:
        if unknown := set(question.excused_by) - known:
            raise ProtocolError(
                f"questions.{question.key}.excused_by", f"{sorted(unknown)} are not codes of it"
            )
        if question.kind == "preference" and layout != "comparison":
            raise ProtocolError(f"questions.{question.key}", "a preference needs the layout 'comparison'")
    content = tuple(definition.get("content", ()))
    if unknown := set(content) - set(CONTENT):
        raise ProtocolError("content", f"{sorted(unknown)} are not item fields; use {', '.join(CONTENT)}")
    return Protocol(
        key=str(definition.get("key", "custom")),
        title=_text(definition, "title", "protocol"),
        layout=layout,
        candidates=_candidates(definition, layout),
        candidate=_one_of(definition, "candidate", ("clip", "text"), "protocol"),
        guidelines=_text(definition, "guidelines", "protocol"),
        content=content,
        questions=questions,
        codes=codes,
        comment=bool(definition.get("comment", False)),
        glossary=tuple(
            _glossary(row, f"glossary[{i}]") for i, row in enumerate(definition.get("glossary", []))
        ),
        skip_reasons=tuple(
            _code(row, f"skip_reasons[{i}]") for i, row in enumerate(definition.get("skip_reasons", []))
        ),
        source=str(definition.get("source", "")),
    )


def _question(row: Mapping[str, Any], where: str) -> QuestionSpec:
    _only(row, where, QuestionSpec.__dataclass_fields__.keys())
    key = str(row.get("key", ""))
    if not KEY.match(key):
        raise ProtocolError(f"{where}.key", f"{key!r} must be lower-case letters, digits and _, up to 40")
    kind = _one_of(row, "kind", KINDS, where)
    points = tuple(_point(point, f"{where}.points[{i}]") for i, point in enumerate(row.get("points", [])))
    minimum, maximum = row.get("minimum"), row.get("maximum")
    if kind in ("rating", "correctness") and not points and (minimum is None or maximum is None):
        raise ProtocolError(where, "a scale needs either points or a minimum and a maximum")
    level = _one_of(row, "level", LEVELS, where, default="")
    if kind in ("preference", "rating", "correctness") and not level:
        raise ProtocolError(f"{where}.level", f"is missing; use one of {', '.join(filter(None, LEVELS))}")
    return QuestionSpec(
        key=key,
        kind=kind,
        title=_text(row, "title", where),
        help=_text(row, "help", where, default=NO_TEXT),
        level=level,
        required=bool(row.get("required", True)),
        excused_by=tuple(row.get("excused_by", ())),
        per_candidate=bool(row.get("per_candidate", False)),
        tie=bool(row.get("tie", False)),
        both_bad=bool(row.get("both_bad", False)),
        points=points,
        minimum=None if minimum is None else float(minimum),
        maximum=None if maximum is None else float(maximum),
        confidence=_confidence(row["confidence"], f"{where}.confidence") if "confidence" in row else None,
        max_length=int(row.get("max_length", 2000)),
    )


def _confidence(row: Mapping[str, Any], where: str) -> ConfidenceSpec:
    _only(row, where, ConfidenceSpec.__dataclass_fields__.keys())
    points = tuple(_point(point, f"{where}.points[{i}]") for i, point in enumerate(row.get("points", [])))
    if not points:
        raise ProtocolError(f"{where}.points", "there are none")
    return ConfidenceSpec(
        title=_text(row, "title", where), points=points, required=bool(row.get("required", True))
    )


def _point(row: Mapping[str, Any], where: str) -> Point:
    _only(row, where, Point.__dataclass_fields__.keys())
    if not isinstance(row.get("value"), int | float):
        raise ProtocolError(f"{where}.value", "must be a number")
    return Point(
        value=float(row["value"]),
        label=_text(row, "label", where),
        meaning=_text(row, "meaning", where, default=NO_TEXT),
    )


def _code(row: Mapping[str, Any], where: str) -> CodeSpec:
    _only(row, where, CodeSpec.__dataclass_fields__.keys())
    key = str(row.get("key", ""))
    if not 0 < len(key) <= 16:
        raise ProtocolError(f"{where}.key", "must have 1 to 16 characters")
    return CodeSpec(key, _text(row, "title", where), _text(row, "meaning", where, default=NO_TEXT))


def _glossary(row: Mapping[str, Any], where: str) -> GlossaryRow:
    _only(row, where, GlossaryRow.__dataclass_fields__.keys())
    words = {
        side: tuple(_as_text(word, f"{where}.{side}") for word in row.get(side, []))
        for side in ("positive", "negative")
    }
    return GlossaryRow(_text(row, "dimension", where), words["positive"], words["negative"])


def _candidates(definition: Mapping[str, Any], layout: str) -> tuple[int, int]:
    low, high = definition.get("candidates", LAYOUTS[layout])
    allowed_low, allowed_high = LAYOUTS[layout]
    if not allowed_low <= low <= high <= allowed_high:
        raise ProtocolError(
            "candidates", f"[{low}, {high}] is outside [{allowed_low}, {allowed_high}] of a {layout}"
        )
    return int(low), int(high)


def _text(row: Mapping[str, Any], name: str, where: str, *, default: Text | None = None) -> Text:
    if name not in row:
        if default is None:
            raise ProtocolError(f"{where}.{name}", "is missing")
        return default
    return _as_text(row[name], f"{where}.{name}")


def _as_text(value: object, where: str) -> Text:
    if isinstance(value, str):
        return Text({"en": value.strip()})
    if isinstance(value, Mapping) and "en" in value and all(isinstance(v, str) for v in value.values()):
        return Text({str(language): str(text).strip() for language, text in value.items()})
    raise ProtocolError(where, 'must be a text, or a table of texts by language that has "en"')


def _one_of(
    row: Mapping[str, Any], name: str, allowed: tuple[str, ...], where: str, *, default: str | None = None
) -> str:
    value = row.get(name, default)
    if value not in allowed:
        raise ProtocolError(
            f"{where}.{name}", f"{value!r} is not one of {', '.join(repr(a) for a in allowed)}"
        )
    return str(value)


def _only(row: object, where: str, allowed: Iterable[str]) -> None:
    if not isinstance(row, Mapping):
        raise ProtocolError(where, "must be a table")
    if unknown := set(row) - set(allowed):
        raise ProtocolError(where, f"{', '.join(sorted(map(str, unknown)))}: not known here")


def _unique(keys: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise ProtocolError(where, f"{key!r} stands there twice")
        seen.add(key)
