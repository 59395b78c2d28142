"""Judged tasks made by hand."""

from __future__ import annotations

import hashlib
from typing import Any

from analytics.datasets.formats.contract import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    AnswerRow,
    BuildContext,
    Clip,
    Content,
    JudgedTask,
    JudgmentRow,
    Output,
    Question,
    TrainingSetOptions,
)

LETTERS = {"a": FIRST, "b": SECOND, "t": TIE, "x": BOTH_BAD}
PREFERENCE = (Question("alignment", is_preference=True),)
BOTH = (*PREFERENCE, Question("musicality", is_preference=True))
RATING = (Question("correctness", is_preference=False, points=(1.0, 2.0, 3.0, 4.0, 5.0)),)


def clip(name: str) -> Clip:
    return Clip(hashlib.sha256(name.encode()).hexdigest(), 1.0)


def compared(votes: str, task: str = "one", *, question: str = "alignment", **said: Any) -> JudgedTask:
    """A pair of sounds, and votes by raters r0, r1, …: a, b, t (tie) or x (both bad)."""
    return JudgedTask(
        task=task,
        item=f"item of {task}",
        version=1,
        corrected=False,
        content=Content(prompt=f"Prompt of {task}"),
        outputs=(
            Output(1, "one", clip=clip(f"{task}-1")),
            Output(2, "two", clip=clip(f"{task}-2")),
        ),
        judgments=tuple(
            JudgmentRow(f"r{number}", "rated", (AnswerRow(question, choice=LETTERS[letter]),), **said)
            for number, letter in enumerate(votes)
        ),
    )


def rated(values: list[float], task: str = "one", *, question: str = "correctness") -> JudgedTask:
    return JudgedTask(
        task=task,
        item=f"item of {task}",
        version=1,
        corrected=False,
        content=Content(question=f"What is heard in {task}?", reference="A bell."),
        outputs=(Output(1, "M1_0", text="A bell."),),
        judgments=tuple(
            JudgmentRow(f"r{number}", "rated", (AnswerRow(question, value=value),))
            for number, value in enumerate(values)
        ),
    )


def context(format: str = "trl-preference", **options: Any) -> BuildContext:
    return BuildContext(TrainingSetOptions(format, **options), systems=("one", "two"))
