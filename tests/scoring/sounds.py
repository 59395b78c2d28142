"""Short sounds on disk."""

from __future__ import annotations

import hashlib
import wave
from pathlib import Path

import numpy as np

from scoring.metrics.contract import Sound

RATE = 16_000


def sound(folder: Path, *, seconds: float, seed: int = 0) -> Sound:
    """Noise that swells, 16 kHz, one channel: no two seeds alike."""
    path = folder / f"{seed}-{seconds}.wav"
    rng = np.random.default_rng(seed)
    swell = np.linspace(0.05, 0.5, int(seconds * RATE)) ** rng.uniform(0.5, 2)
    samples = (swell * rng.normal(size=len(swell)) * 12_000).clip(-32_000, 32_000)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.astype("<i2").tobytes())
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, seconds)
