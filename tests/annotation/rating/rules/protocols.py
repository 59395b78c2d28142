"""Small protocols for tests of rules: say only what the test is about."""

from __future__ import annotations

from typing import Any

from annotation.protocols import Protocol, parse

SCALE = [{"value": value, "label": f"{value}"} for value in range(1, 6)]
CONFIDENCE = {"title": "How sure?", "points": SCALE}


def question(**fields: Any) -> dict[str, Any]:
    """A rating from 1 to 5."""
    return {
        "key": "quality",
        "kind": "rating",
        "level": "ordinal",
        "title": "How good?",
        "points": SCALE,
        **fields,
    }


def preference(**fields: Any) -> dict[str, Any]:
    return {"key": "better", "kind": "preference", "level": "nominal", "title": "Which?", **fields}


def text(**fields: Any) -> dict[str, Any]:
    return {"key": "why", "kind": "text", "title": "Why?", **fields}


def definition(*questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A definition without a fault."""
    return {
        "key": "test",
        "title": "Test",
        "guidelines": "Listen.",
        "layout": "rating",
        "candidate": "clip",
        "questions": list(questions) or [question()],
        **fields,
    }


def protocol(*questions: dict[str, Any], **fields: Any) -> Protocol:
    return parse(definition(*questions, **fields))
