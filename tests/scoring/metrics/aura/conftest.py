"""AURA with a language model and a CLAP that say what a test wants."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from scoring.backbones.contract import GREEDY, Decoding, GeneratedText, Hearing
from scoring.metrics.aura import scorer
from scoring.metrics.contract import ExampleError, Metric, Sound
from scoring.metrics.registry import Runtime, open_metric

Writes = Callable[[str], str | GeneratedText | Exception]


def rating(mark: int) -> str:
    return json.dumps({"reason": "So.", "score": mark})


class Reader:
    """A language model: `judges` answers the judge's prompt, `states` that of the hypothesis. `requests`: what came."""

    identity = {"backbone": "double"}

    def __init__(self, judges: Writes, states: Writes) -> None:
        self.judges, self.states = judges, states
        self.requests: list[tuple[str, str, Decoding]] = []

    def generate(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int, decoding: Decoding = GREEDY
    ) -> list[Sequence[GeneratedText] | Exception]:
        return [self._one(hearing.questions[0], system, decoding) for hearing in hearings]

    def _one(self, question: str, system: str, decoding: Decoding) -> Sequence[GeneratedText] | Exception:
        self.requests.append((system, question, decoding))
        written = (self.judges if "{reference}" not in system and "Reference" in question else self.states)(
            question
        )
        if isinstance(written, Exception):
            return written
        return [
            written if isinstance(written, GeneratedText) else GeneratedText(written, prompt_tokens=7)
        ] * decoding.samples


class Space:
    """A CLAP in which every sound is one direction, and texts lie as near to it as `cosines` has them (0.4 if not)."""

    identity = {"weights": "double"}
    family = "MS-CLAP 2023"

    def __init__(self) -> None:
        self.cosines: dict[str, float] = {}
        self.unreadable: dict[str, ExampleError] = {}

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self.prepared = [sound.sha256 for sound in sounds]

    def of_sounds(self, sounds: Sequence[Sound]) -> list[Any]:
        return [self.unreadable.get(sound.sha256, torch.tensor([1.0, 0.0])) for sound in sounds]

    def of_texts(self, texts: Sequence[str]) -> list[Any]:
        return [self.unreadable.get(text, self._direction(text)) for text in texts]

    def _direction(self, text: str) -> torch.Tensor:
        cosine = self.cosines.get(text, 0.4)
        return torch.tensor([cosine, math.sqrt(1 - cosine**2)])


@pytest.fixture
def space() -> Space:
    return Space()


@pytest.fixture
def opened(
    space: Space, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[Metric, Reader]]:
    """`judges` and `states` are what is written always, or functions of the question; `cache` in bytes."""

    def open_with(judges: Any, states: Any = "A dog barks.", *, cache: int = 0, **options: Any) -> Any:
        always = [(one if callable(one) else lambda question, one=one: one) for one in (judges, states)]
        reader = Reader(*always)
        monkeypatch.setattr(scorer, "open_clap", lambda name, *, folder, device: name)
        monkeypatch.setattr(scorer, "Clap", lambda parts, *, long_sounds, device, cache: space)
        monkeypatch.setattr(scorer, "open_backbone", lambda name, *, dtype, runtime: reader)
        runtime = Runtime(tmp_path / "features", cache, "cpu")
        return open_metric("aura", {"backbone": "double", **options}, runtime), reader

    return open_with
