"""Short sounds on disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from scoring.metrics.contract import Sound
from tests.annotation.audio.recordings import write_wav

RATE = 16_000


def sound(folder: Path, *, seconds: float, seed: int = 0) -> Sound:
    """Noise that swells, 16 kHz, one channel: no two seeds alike."""
    path = folder / f"{seed}-{seconds}.wav"
    rng = np.random.default_rng(seed)
    swell = np.linspace(0.05, 0.5, int(seconds * RATE)) ** rng.uniform(0.5, 2)
    samples = (swell * rng.normal(size=len(swell)) * 12_000).clip(-32_000, 32_000)
    write_wav(path, samples.astype(np.int32)[None], rate=RATE)
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, seconds)
