"""Judged tasks made by hand."""

from __future__ import annotations

import hashlib
from typing import Any

from analytics.training_sets.contract import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    Clip,
    Content,
    Given,
    Judged,
    Making,
    Output,
    Question,
    Said,
)
from analytics.training_sets.options import Options

LETTERS = {"a": FIRST, "b": SECOND, "t": TIE, "x": BOTH_BAD}
PREFERENCE = (Question("alignment", is_preference=True),)
RATING = (Question("correctness", is_preference=False, points=(1.0, 2.0, 3.0, 4.0, 5.0)),)


def clip(name: str) -> Clip:
    return Clip(hashlib.sha256(name.encode()).hexdigest(), 1.0)


def compared(votes: str, task: str = "one", *, question: str = "alignment", **said: Any) -> Judged:
    """A pair of sounds, and votes by raters r0, r1, …: a, b, t (tie) or x (both bad)."""
    return Judged(
        task=task,
        item=f"item of {task}",
        version=1,
        corrected=False,
        content=Content(prompt=f"Prompt of {task}"),
        outputs=(
            Output(1, "one", clip=clip(f"{task}-1")),
            Output(2, "two", clip=clip(f"{task}-2")),
        ),
        said=tuple(
            Said(f"r{number}", "rated", (Given(question, choice=LETTERS[letter]),), **said)
            for number, letter in enumerate(votes)
        ),
    )


def rated(values: list[float], task: str = "one", *, question: str = "correctness") -> Judged:
    return Judged(
        task=task,
        item=f"item of {task}",
        version=1,
        corrected=False,
        content=Content(question=f"What is heard in {task}?", reference="A bell."),
        outputs=(Output(1, "M1_0", text="A bell."),),
        said=tuple(
            Said(f"r{number}", "rated", (Given(question, value=value),))
            for number, value in enumerate(values)
        ),
    )


def making(format: str = "trl-preference", **options: Any) -> Making:
    return Making(Options(format, **options), systems=("one", "two"))
