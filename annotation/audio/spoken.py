"""A spoken instruction over a clip: same length, depth, channels and loudness, the music lowered under the voice."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from annotation.audio.decode import CANONICAL_RATE, Samples, Source, open_audio, open_file
from annotation.audio.errors import AudioError
from annotation.audio.flac import FlacWriter, quantise
from annotation.audio.loudness import LoudnessMeter

# Under the voice, and how long the way down and up takes.
DUCKING_DB = -15.0
_FADE_S = 0.12
# Voice over the clip as it was.
VOICE_DB = 4.0
_FIRST_AT_S, _PAUSE_S = 0.6, 4.0
_HIGHEST = 0.97


def shortest_clip_s(voice: NDArray[np.float32]) -> float:
    """How long a clip must be for the whole instruction to be heard once."""
    return len(voice) / CANONICAL_RATE + 2 * _FADE_S


def read_voice(path: Path) -> NDArray[np.float32]:
    """A recording as mono samples at 48 kHz, at a loudness of 1 (RMS where it speaks)."""
    with open_file(path) as file, open_audio(file) as container:
        samples = np.concatenate([chunk.mean(axis=0) for chunk in Source(file, container).chunks()])
    speech = samples[np.abs(samples) > 0.02 * np.abs(samples).max()]
    level = math.sqrt(float(np.mean(np.square(speech, dtype=np.float64))))
    spoken: NDArray[np.float32] = (samples / level).astype(np.float32)
    return spoken


def write_spoken(source: Path, target: Path, *, voice: NDArray[np.float32]) -> None:
    """Write `source` with the instruction over it, repeated while there is room, as a 48 kHz FLAC file.

    The same input gives the same bytes. Raises AudioError where the clip is too short for it or cannot be read.
    """
    with open_file(source) as file, open_audio(file) as container:
        clip = Source(file, container)
        bits, channels = clip.bits, clip.channels
        sound: Samples = np.concatenate(list(clip.chunks()), axis=1)
    n = sound.shape[1]
    starts = _starts(n, len(voice))
    if not starts:
        raise AudioError(
            "too_short",
            "This clip is shorter than the instruction to be spoken over it.",
            "Use longer clips.",
        )
    level = math.sqrt(float(np.mean(np.square(sound, dtype=np.float64)))) or 0.05
    spoken = np.zeros(n, np.float32)
    speaks = np.zeros(n, np.float32)
    for start in starts:
        spoken[start : start + len(voice)] = voice
        speaks[start : start + len(voice)] = 1
    ducked = sound * (1 - _smooth(speaks) * np.float32(1 - _gain(DUCKING_DB)))
    mixed = ducked + spoken * np.float32(level * _gain(VOICE_DB))
    wanted, got = _loudness(sound), _loudness(mixed)
    if wanted is not None and got is not None:
        mixed *= np.float32(_gain(wanted - got))
    mixed *= np.float32(min(1.0, _HIGHEST / max(float(np.abs(mixed).max()), 1e-9)))
    with FlacWriter(target, channels=channels, bits=bits, rate=CANONICAL_RATE) as writer:
        writer.push(quantise(mixed.astype(np.float32), bits=bits))


def _starts(n: int, n_voice: int) -> list[int]:
    """Where the instruction begins, each time it is spoken."""
    first = min(int(_FIRST_AT_S * CANONICAL_RATE), (n - n_voice) // 2)
    if n - n_voice < 2 * _FADE_S * CANONICAL_RATE:
        return []
    return list(range(first, n - n_voice + 1, n_voice + int(_PAUSE_S * CANONICAL_RATE)))


def _smooth(speaks: NDArray[np.float32]) -> NDArray[np.float32]:
    """Ramps at the ends of each stretch."""
    width = int(_FADE_S * CANONICAL_RATE)
    sums = np.cumsum(np.pad(speaks, (width, width), mode="edge"), dtype=np.float64)
    half = width // 2
    averaged = (sums[width:] - sums[:-width]) / width
    smooth: NDArray[np.float32] = averaged[half : half + len(speaks)].astype(np.float32)
    return smooth


def _loudness(samples: Samples) -> float | None:
    meter = LoudnessMeter(channels=samples.shape[0], rate=CANONICAL_RATE)
    for start in range(0, samples.shape[1], CANONICAL_RATE):
        meter.push(np.ascontiguousarray(samples[:, start : start + CANONICAL_RATE]))
    meter.finish()
    return meter.loudness_lufs


def _gain(decibels: float) -> float:
    return float(10 ** (decibels / 20))
