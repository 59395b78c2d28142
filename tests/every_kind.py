"""One protocol that asks a question of every kind, some only where an earlier answer says so, and answers to it."""

from __future__ import annotations

from typing import Any

GENRES = [{"key": key, "title": key.capitalize()} for key in ("rock", "jazz", "other")]
FLAWS = [{"key": key, "title": key.capitalize()} for key in ("noise", "clipping", "silence")]

QUESTIONS: list[dict[str, Any]] = [
    {"key": "order", "kind": "ranking", "title": "Put them in order"},
    {"key": "genre", "kind": "choice", "title": "Which genre was asked for?", "options": GENRES},
    {
        "key": "which",
        "kind": "text",
        "title": "Which other?",
        "ask_if": {"question": "genre", "any_of": ["other"]},
    },
    {
        "key": "flaws",
        "kind": "choices",
        "title": "What is wrong?",
        "options": FLAWS,
        "min_choices": 0,
        "max_choices": 2,
        "per_candidate": True,
    },
    {
        "key": "noisy",
        "kind": "rating",
        "level": "ordinal",
        "title": "How noisy is it?",
        "per_candidate": True,
        "points": [{"value": value} for value in range(1, 8)],
        "ask_if": {"question": "flaws", "any_of": ["noise"]},
    },
    {
        "key": "liking",
        "kind": "rating",
        "level": "interval",
        "title": "How much do you like it?",
        "per_candidate": True,
        "minimum": 0,
        "maximum": 100,
        "step": 5,
        "required": False,
    },
    {
        "key": "clicks",
        "kind": "events",
        "title": "Where does something go wrong?",
        "options": FLAWS,
        "notes": True,
        "per_candidate": True,
        "required": False,
    },
]


def every_kind(**fields: Any) -> dict[str, Any]:
    """The definition: a panel of two or three clips."""
    return {
        "key": "every_kind",
        "title": "Every kind",
        "guidelines": "Listen.",
        "layout": "panel",
        "candidates": [2, 4],
        "candidate": "clip",
        "content": ["prompt"],
        "listening": {"must_hear": []},
        "codes": [{"key": "Q", "title": "Bad prompt"}],
        "codes_title": "About the prompt",
        "comment": True,
        "skip_reasons": [{"key": "broken", "title": "Cannot be played"}],
        "questions": QUESTIONS,
        **fields,
    }


def answers(
    *, order: list[int], genre: str = "rock", flaws: list[list[str]], liking: list[int] | None = None
) -> list[dict[str, Any]]:
    """By position as shown; what conditions ask is added."""
    given: list[dict[str, Any]] = [
        {"question": "order", "ranking": order},
        {"question": "genre", "option": genre},
    ]
    if genre == "other":
        given.append({"question": "which", "text": "Polka."})
    for position, found in enumerate(flaws):
        given.append({"question": "flaws", "position": position, "options": found})
        if "noise" in found:
            given.append({"question": "noisy", "position": position, "value": 6})
            event = {"start": 0.25, "end": 0.5, "label": "noise", "note": "a hiss"}
            given.append({"question": "clicks", "position": position, "events": [event]})
    for position, value in enumerate(liking or []):
        given.append({"question": "liking", "position": position, "value": value})
    return given
