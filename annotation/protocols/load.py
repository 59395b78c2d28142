"""Reading and checking definitions. Every fault is reported with the place it stands in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from annotation.protocols import fields
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

# The fewest and the most candidates that a layout can show.
LAYOUTS = {"rating": (1, 1), "comparison": (2, 2), "abx": (2, 2), "panel": (1, 26)}
SIDED = ("comparison", "abx")
KINDS = ("preference", "rating", "correctness", "events", "text")
MEASURED = ("preference", "rating", "correctness")
SCALED = ("rating", "correctness")
LEVELS = ("nominal", "ordinal", "interval", "ratio", "")
CONTENT = ("prompt", "lyrics", "reference_clip", "question", "reference", "rationale", "transcript", "clip")
ADDED = ("hidden_reference", "anchor_3500", "anchor_7000")
CLIP_CONTENT = ("reference_clip", "clip")
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
    fields.only(definition, "protocol", Protocol.__dataclass_fields__.keys() - {"_by_key"})
    layout = fields.one_of(definition, "layout", tuple(LAYOUTS), "")
    codes = tuple(_code(row, where) for row, where in fields.rows(definition, "codes", ""))
    fields.unique((code.key for code in codes), "codes")
    skip_reasons = tuple(_code(row, where) for row, where in fields.rows(definition, "skip_reasons", ""))
    fields.unique((reason.key for reason in skip_reasons), "skip_reasons")
    return Protocol(
        key=fields.key({"key": "custom", **definition}, "", longest=40),
        title=fields.text(definition, "title", ""),
        layout=layout,
        candidates=_candidates(definition, layout),
        candidate=fields.one_of(definition, "candidate", ("clip", "text"), ""),
        guidelines=fields.text(definition, "guidelines", ""),
        content=fields.names(definition, "content", "", of=CONTENT, what="item fields"),
        added=_added(definition, layout),
        questions=_questions(definition, layout, codes),
        codes=codes,
        comment=fields.flag(definition, "comment", "", default=False),
        listening=_listening(definition),
        glossary=tuple(_glossary(row, where) for row, where in fields.rows(definition, "glossary", "")),
        skip_reasons=skip_reasons,
        source=str(definition.get("source", "")),
    )


def _questions(
    definition: Mapping[str, Any], layout: str, codes: tuple[CodeSpec, ...]
) -> tuple[QuestionSpec, ...]:
    known = [code.key for code in codes]
    questions = []
    for row, where in fields.rows(definition, "questions", ""):
        questions.append(question := _question(row, where, codes=known))
        _check_sides(question, layout, where)
    if not questions:
        raise ProtocolError("questions", "there are none; a protocol asks at least one")
    fields.unique((question.key for question in questions), "questions")
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
    fields.only(row, where, QuestionSpec.__dataclass_fields__.keys())
    key = fields.key(row, where, longest=40)
    if not KEY.match(key):
        raise ProtocolError(f"{where}.key", f"{key!r} must be lower-case letters, digits and _, up to 40")
    kind = fields.one_of(row, "kind", KINDS, where)
    level = fields.one_of(row, "level", LEVELS, where, default="")
    points = _points(row, where)
    minimum, maximum = _range(row, where, needed=kind in SCALED and not points)
    per_candidate = fields.flag(row, "per_candidate", where, default=False)
    if kind == "preference" and per_candidate:
        raise ProtocolError(f"{where}.per_candidate", "a preference is between candidates, not of each")
    return QuestionSpec(
        key=key,
        kind=kind,
        title=fields.text(row, "title", where),
        help=fields.text(row, "help", where, default=NO_TEXT),
        level=level,
        required=fields.flag(row, "required", where, default=True),
        excused_by=fields.names(row, "excused_by", where, of=codes, what="codes of it"),
        per_candidate=per_candidate,
        tie=fields.flag(row, "tie", where, default=False),
        both_bad=fields.flag(row, "both_bad", where, default=False),
        points=points,
        minimum=minimum,
        maximum=maximum,
        bands=_bands(row, where, minimum, maximum),
        confidence=_confidence(row["confidence"], f"{where}.confidence") if "confidence" in row else None,
        max_length=fields.count(row, "max_length", where, default=2000),
    )


def _range(row: Mapping[str, Any], where: str, *, needed: bool) -> tuple[float | None, float | None]:
    minimum, maximum = fields.number(row, "minimum", where), fields.number(row, "maximum", where)
    if needed and (minimum is None or maximum is None):
        raise ProtocolError(where, "a scale needs either points or a minimum and a maximum")
    if minimum is not None and maximum is not None and minimum >= maximum:
        raise ProtocolError(f"{where}.minimum", f"{minimum:g} is not below the maximum, {maximum:g}")
    return minimum, maximum


def _bands(
    row: Mapping[str, Any], where: str, minimum: float | None, maximum: float | None
) -> tuple[Band, ...]:
    bands = tuple(_band(band, at) for band, at in fields.rows(row, "bands", where))
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
    fields.only(row, where, Band.__dataclass_fields__.keys())
    minimum, maximum = fields.number(row, "minimum", where), fields.number(row, "maximum", where)
    if minimum is None or maximum is None:
        raise ProtocolError(where, "needs a minimum and a maximum")
    return Band(minimum, maximum, fields.text(row, "label", where))


def _confidence(row: Mapping[str, Any], where: str) -> ConfidenceSpec:
    fields.only(row, where, ConfidenceSpec.__dataclass_fields__.keys())
    points = _points(row, where)
    if not points:
        raise ProtocolError(f"{where}.points", "there are none")
    return ConfidenceSpec(
        title=fields.text(row, "title", where),
        points=points,
        required=fields.flag(row, "required", where, default=True),
    )


def _points(row: Mapping[str, Any], where: str) -> tuple[Point, ...]:
    points = tuple(_point(point, at) for point, at in fields.rows(row, "points", where))
    fields.unique((point.value for point in points), f"{where}.points")
    return points


def _point(row: Mapping[str, Any], where: str) -> Point:
    fields.only(row, where, Point.__dataclass_fields__.keys())
    value = fields.number(row, "value", where)
    if value is None:
        raise ProtocolError(f"{where}.value", "is missing")
    return Point(
        value=value,
        label=fields.text(row, "label", where, default=NO_TEXT),
        meaning=fields.text(row, "meaning", where, default=NO_TEXT),
    )


def _code(row: Mapping[str, Any], where: str) -> CodeSpec:
    fields.only(row, where, CodeSpec.__dataclass_fields__.keys())
    return CodeSpec(
        key=fields.key(row, where, longest=16),
        title=fields.text(row, "title", where),
        meaning=fields.text(row, "meaning", where, default=NO_TEXT),
    )


def _listening(definition: Mapping[str, Any]) -> ListeningSpec:
    """Clips that are judged have to be heard, unless the definition says otherwise; an item's own clips need not."""
    judged = ["candidates"] if definition.get("candidate") == "clip" else []
    row = definition.get("listening", {"must_hear": judged})
    fields.only(row, "listening", ListeningSpec.__dataclass_fields__.keys())
    audible = judged + [name for name in CLIP_CONTENT if name in definition.get("content", [])]
    what = "clips that this protocol shows"
    return ListeningSpec(fields.names(row, "must_hear", "listening", of=audible, what=what))


def _glossary(row: Mapping[str, Any], where: str) -> GlossaryRow:
    fields.only(row, where, GlossaryRow.__dataclass_fields__.keys())
    return GlossaryRow(
        fields.text(row, "dimension", where), _words(row, "positive", where), _words(row, "negative", where)
    )


def _words(row: Mapping[str, Any], name: str, where: str) -> tuple[Text, ...]:
    return tuple(fields.as_text(word, at) for word, at in fields.rows(row, name, where))


def _candidates(definition: Mapping[str, Any], layout: str) -> tuple[int, int]:
    fewest, most = LAYOUTS[layout]
    stated = [
        number for number, _ in fields.rows({"candidates": [fewest, most], **definition}, "candidates", "")
    ]
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in stated)
    if not whole or len(stated) != 2 or not fewest <= stated[0] <= stated[1] <= most:
        raise ProtocolError(
            "candidates", f"{stated} is not a fewest and a most within [{fewest}, {most}] of a {layout}"
        )
    return stated[0], stated[1]


def _added(definition: Mapping[str, Any], layout: str) -> tuple[str, ...]:
    added = fields.names(definition, "added", "", of=ADDED, what="candidates that an import can make")
    shows_reference = "reference_clip" in definition.get("content", [])
    if added and not (layout == "panel" and definition.get("candidate") == "clip" and shows_reference):
        raise ProtocolError("added", "needs a panel of clips whose items show a reference_clip")
    return added
