"""Rated answers with something to learn, and a tiny encoder that learns it in a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scoring.backbones.encoders.contract import AnswerEncoder
from scoring.metrics.registry import Runtime
from scoring.training.catalogue import validate_options
from scoring.training.contract import RatedAnswer, Split

_WORDS = ("dog", "rain", "piano", "laughter", "train", "choir", "glass", "wind")


def answers(number: int, *, seed: int, name: str = "a") -> list[RatedAnswer]:
    """An answer that names the reference is rated 4 or 5, another 1 or 2, by two or three people."""
    chance = np.random.default_rng(seed)
    found = []
    for place in range(number):
        right, other = chance.choice(_WORDS, size=2, replace=False)
        good = bool(chance.random() < 0.5)
        ratings = chance.choice((4, 5) if good else (1, 2), size=int(chance.integers(2, 4)))
        found.append(
            RatedAnswer(
                key=f"{name}{place}",
                group=f"{name}{place}",
                system="m",
                candidate=f"It is {right if good else other}",
                question="What is heard? " * int(chance.integers(1, 4)),
                reference=str(right),
                rationale=f"One hears {right}.",
                ratings=tuple(float(rating) for rating in ratings),
            )
        )
    return found


def votes(train: int = 60, *, seed: int = 0) -> Split[RatedAnswer]:
    return Split(
        answers(train, seed=seed, name="train"),
        answers(20, seed=seed + 1, name="dev"),
        answers(20, seed=seed + 2, name="test"),
    )


def options(**given: Any) -> dict[str, Any]:
    return validate_options("orca", given)


def runtime(folder: Path) -> Runtime:
    return Runtime(folder / "features", 0, device="cpu", checkpoints=folder)


class Points:
    """An observer that remembers, and may stop the training at a step."""

    def __init__(self, *, stop_at: int | None = None) -> None:
        self.points: list[tuple[str, int, float]] = []
        self.steps: list[int] = []
        self.taken: list[int] = []
        self._stop_at = stop_at

    def progress(self, done: int, total: int, *, stage: str) -> None:
        self.steps.append(done)
        if done == self._stop_at:
            raise KeyboardInterrupt

    def log_metric(self, curve: str, step: int, value: float) -> None:
        self.points.append((curve, step, value))

    def on_resume(self, step: int) -> None:
        self.taken.append(step)


class TinyAnswers(AnswerEncoder):
    """Which words reference and candidate have, and share; with a count, and with chance in training."""

    def __init__(self, *, question: bool, rationale: bool, transcript: bool, width: int = 8) -> None:
        super().__init__()
        self._settings = {
            "question": question,
            "rationale": rationale,
            "transcript": transcript,
            "width": width,
        }
        self.width = width
        self.inner = torch.nn.Linear(len(_WORDS) + 1, width)
        self.dropout = torch.nn.Dropout(0.2)
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.zeros(()))

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"code": "tiny/1", **self._settings}

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._settings

    @property
    def defaults(self) -> Mapping[str, Any]:
        return {
            "learning_rate": 0.05,
            "weight_decay": 0.01,
            "steps": 60,
            "batch": 16,
            "warmup": 5,
            "validate_every": 10,
            "patience": 10,
        }

    def fit(self, answers: Sequence[RatedAnswer]) -> None:
        self.seen.fill_(len(answers))

    def prepare(self, answers: Sequence[RatedAnswer]) -> list[torch.Tensor]:
        return [
            torch.tensor(
                [0.1 * (word in answer.candidate) for word in _WORDS]
                + [3.0 * (answer.reference in answer.candidate)]
            )
            for answer in answers
        ]

    def size(self, prepared: torch.Tensor) -> int:
        return int(prepared.sum())

    def collate(self, prepared: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.stack(list(prepared))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.dropout(torch.tanh(self.inner(batch)))
        return found
