"""Protocol definitions for what the presets do not ask."""

from __future__ import annotations

from typing import Any


def scale(key: str = "quality", **fields: Any) -> dict[str, Any]:
    points = [{"value": value, "label": str(value)} for value in range(1, 6)]
    return {
        "key": key,
        "kind": "rating",
        "level": "interval",
        "title": "How good?",
        "points": points,
        **fields,
    }


def side(key: str = "better", **fields: Any) -> dict[str, Any]:
    return {"key": key, "kind": "preference", "level": "nominal", "title": "Which?", **fields}


def protocol(*questions: dict[str, Any], layout: str = "rating") -> dict[str, Any]:
    return {
        "key": "tests", "title": "Test protocol", "layout": layout, "guidelines": "Listen.", "content": ["prompt"],
        "candidate": "clip", "questions": list(questions),
    }  # fmt: skip
