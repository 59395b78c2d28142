"""Small audio files of every kind, made on the spot."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

RATE = 16_000


def tone(path: Path, *, seconds: float = 0.5, hertz: float = 440.0, level: float = 0.3) -> Path:
    """A mono 16-bit WAV of a sine."""
    return write(path, level * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE)) / RATE))


def silence(path: Path) -> Path:
    return write(path, np.zeros(RATE // 2))


def one_sample(path: Path) -> Path:
    return write(path, np.zeros(1))


def hours(path: Path) -> Path:
    """A WAV whose header announces two hours; only the start is there, and nobody should read so far."""
    write(path, np.zeros(RATE))
    raw = bytearray(path.read_bytes())
    raw[4:8] = (36 + 2 * 7200 * RATE).to_bytes(4, "little")
    raw[40:44] = (2 * 7200 * RATE).to_bytes(4, "little")
    path.write_bytes(bytes(raw))
    return path


def corrupt(path: Path) -> Path:
    path.write_bytes(b"RIFF" + bytes(range(256)) * 4)
    return path


def empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def write(path: Path, samples: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return path
