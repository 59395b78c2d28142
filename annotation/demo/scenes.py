"""The audio-QA half: questions about recorded sound scenes, and answers of known correctness from four systems."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_QUESTIONS = Path(__file__).with_name("questions.toml")
_RECORDINGS = Path(__file__).with_name("recordings")
CORRECTNESS = (5, 4, 3, 2, 1)  # of the answers to a question, in the order of the file


@dataclass(frozen=True, kw_only=True)
class Question:
    """`counts` names a sound, and `count` how often the reference or its rationale says that it is heard.

    `by_reference` holds the answers' correctness to someone who trusts the reference; it differs from
    the truth only where the reference is wrong. `problem` is a feedback code or empty.
    """

    id: str
    text: str
    reference: str
    rationale: str
    events: tuple[tuple[str, float], ...]
    answers: tuple[str, ...]
    by_reference: tuple[int, ...]
    problem: str
    counts: str
    count: int

    @property
    def recording(self) -> Path:
        return _RECORDINGS / f"{self.id}.opus"


@dataclass(frozen=True)
class AnswerSystem:
    """`shares` are its chances of answers of correctness 5, 4, 3, 2 and 1."""

    name: str
    shares: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Expected correctness, from 1 to 5."""
        return float(np.dot(self.shares, CORRECTNESS))


ANSWER_SYSTEMS = (
    AnswerSystem("Ostinato-7B", (0.62, 0.22, 0.08, 0.03, 0.05)),
    AnswerSystem("Tacet-Mini", (0.35, 0.2, 0.2, 0.1, 0.15)),
    AnswerSystem("Fermata-Chat", (0.12, 0.48, 0.2, 0.1, 0.1)),
    AnswerSystem("Coda-0", (0.08, 0.07, 0.2, 0.25, 0.4)),
)


def load_questions() -> tuple[Question, ...]:
    rows = tomllib.loads(_QUESTIONS.read_text(encoding="utf-8"))["question"]
    return tuple(_question(number, row) for number, row in enumerate(rows, start=1))


def _question(number: int, row: dict[str, Any]) -> Question:
    return Question(
        id=f"concord-q{number:02d}",
        text=row["text"],
        reference=row["reference"],
        rationale=row["rationale"],
        events=tuple((sound, start) for sound, start in row["events"]),
        answers=tuple(row["answers"]),
        by_reference=tuple(row.get("against_reference", CORRECTNESS)),
        problem=row.get("problem", ""),
        counts=row.get("counts", ""),
        count=row.get("count", 0),
    )


def drawn_answer(system: AnswerSystem, *, rng: np.random.Generator) -> int:
    """Which of a question's answers the system gives, as an index."""
    return int(rng.choice(len(CORRECTNESS), p=system.shares))
