"""Pairs of short sounds with something to learn: people prefer the one without a hiss."""

from __future__ import annotations

import hashlib
import wave
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.contract import Sound
from scoring.metrics.registry import Runtime
from scoring.training.catalogue import validate_options
from scoring.training.contract import ComparedPair, MusicVotes, PairVote, Prompt, RatedClip, Split

_RATE, _SECONDS = 24_000, 1.2
HEADS = ("alignment", "musicality")


def clip(folder: Path, name: str, *, hiss: float, seed: int) -> Sound:
    """A chord that dies away, with noise over it."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(seed)
    t = np.arange(round(_SECONDS * _RATE)) / _RATE
    chord = sum(np.sin(2 * np.pi * f * t) for f in chance.choice([220, 277, 330, 440, 554], 3, replace=False))
    samples = 0.1 * chord * np.exp(-2 * t) + hiss * chance.standard_normal(len(t))
    path = folder / f"{name}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes((samples * 20_000).clip(-32_000, 32_000).astype("<i2").tobytes())
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, _SECONDS)


def pairs(folder: Path, number: int, *, seed: int, name: str, votes: int = 2) -> list[ComparedPair]:
    """Whichever has no hiss gets all votes of both heads; it comes first in every other pair."""
    found = []
    for at in range(number):
        clean = clip(folder, f"{name}{at}-clean", hiss=0, seed=seed + 2 * at)
        noisy = clip(folder, f"{name}{at}-noisy", hiss=0.05, seed=seed + 2 * at + 1)
        first = float(at % 2)
        said = {head: [PairVote(first, 4.0)] * votes for head in HEADS}
        sounds = (clean, noisy) if first else (noisy, clean)
        prompt = Prompt(f"A chord, number {at}", "la la" if at % 3 == 0 else "")
        found.append(ComparedPair(f"{name}{at}", f"{name}{at}", prompt, *sounds, votes=said))
    return found


def rated(pairs: list[ComparedPair]) -> list[RatedClip]:
    """The same sounds, 5 for what won and 1 for what lost."""
    return [
        RatedClip(f"{pair.key}/{side}", pair.group, pair.prompt, sound, {"musicality": [5.0 if won else 1.0]})
        for pair in pairs
        for side, sound, won in (
            (1, pair.first, pair.votes["musicality"][0].first == 1),
            (2, pair.second, pair.votes["musicality"][0].first == 0),
        )
    ]


def music_votes(folder: Path) -> MusicVotes:
    train, dev = pairs(folder, 12, seed=1, name="train"), pairs(folder, 3, seed=100, name="dev")
    return MusicVotes(Split(train, dev), Split(rated(train[:2]), rated(dev[:1])), pseudo=train[:4])


def options(**given: Any) -> dict[str, Any]:
    small = {"width": 24, "batch": 6, "steps": 12, "first_steps": 4, "validate_every": 3, "patience": 9}
    return validate_options("cmi-rm", {**small, **given})


def runtime(folder: Path) -> Runtime:
    return Runtime(folder / "features", 50_000_000, device="cpu", checkpoints=folder)


class Stopped(Exception):
    """A kill, as a training sees it."""


@dataclass
class Watching:
    """An observer that remembers, and may stop the training when a curve gets a point at a step."""

    stop_at: int | None = None
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)
    resumed: list[int] = field(default_factory=list)

    def progress(self, done: int, total: int, *, stage: str) -> None:
        assert 0 < done <= total
        self.stages.append(stage)

    def log_metric(self, curve: str, step: int, value: float) -> None:
        self.curves.setdefault(curve, []).append((step, value))
        if step == self.stop_at:
            raise Stopped

    def on_resume(self, step: int) -> None:
        self.resumed.append(step)
