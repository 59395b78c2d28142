"""Pitch: which of the twelve tones sound, in which key and mode, and how many of them lie outside of it."""

from __future__ import annotations

from functools import cache

import numpy as np

from scoring.backbones.mel_spectra import FloatArray, frequencies, spectrogram

_FFT, _HOP = 8192, 2400
FRAMES_A_SECOND = 10
_LOWEST_HZ, _HIGHEST_HZ = 60.0, 1600.0
_PITCHES = np.arange(24, 100)
_WIDTH = 0.2  # of a semitone, within which a peak belongs to it
_MAJOR_SCALE = np.isin(np.arange(12), (0, 2, 4, 5, 7, 9, 11)).astype(np.float64)

# How well each tone fits a key of C (Krumhansl, "Cognitive Foundations of Musical Pitch", 1990, table 2.1).
_MAJOR = np.array([6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88])
_MINOR = np.array([6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17])


def chroma(sound: FloatArray) -> FloatArray:
    """(frames, 12), C first: the peaks of a spectrum by tone, ten frames a second."""
    size = np.sqrt(spectrogram(sound, _FFT, _HOP))
    peaks = np.zeros_like(size)
    inner = size[:, 1:-1]
    peaks[:, 1:-1] = np.where((inner > size[:, :-2]) & (inner > size[:, 2:]), inner, 0)
    return np.asarray(peaks @ _tones())


@cache
def _tones() -> FloatArray:
    """(bins, 12)"""
    at = frequencies(_FFT)
    pitch = 69 + 12 * np.log2(np.maximum(at, 1.0) / 440)
    near = np.exp(-0.5 * ((pitch[:, None] - _PITCHES) / _WIDTH) ** 2)
    near[(at <= _LOWEST_HZ) | (at >= _HIGHEST_HZ)] = 0
    return np.asarray(near @ (_PITCHES[:, None] % 12 == np.arange(12)).astype(np.float64))


def mode(tones: FloatArray) -> float:
    """From (frames, 12): above 0 for major, below for minor, from the correlation with the best key of either."""
    major, minor = _best_keys(tones)
    return float(np.clip((major - minor) / 0.25, -2, 2))


def clarity(tones: FloatArray) -> FloatArray:
    """(5,) How clear the key is, how much sounds outside of the scale that fits best, on the whole, at worst and how
    unevenly, and how alike the tones are from second to second."""
    total = tones.sum(axis=1)
    if total.max() <= 1e-9:
        return np.zeros(5)
    mean = tones.mean(axis=0) / tones.mean(axis=0).sum()
    scale = max((np.roll(_MAJOR_SCALE, step) for step in range(12)), key=lambda one: float(one @ mean))
    heard = tones[total > total.max() * 0.01]
    outside = 1 - heard @ scale / heard.sum(axis=1)
    found = [
        max(_best_keys(tones)),
        np.log(1 - scale @ mean + 1e-3),
        outside.max(),
        float(np.percentile(outside, 90)),
        outside.std(),
    ]
    return (np.array(found) - [0.75, -3.0, 0.3, 0.12, 0.07]) / [0.1, 0.7, 0.15, 0.08, 0.04]


def _best_keys(tones: FloatArray) -> tuple[float, float]:
    mean = _standard(tones.mean(axis=0))
    return tuple(  # type: ignore[return-value]
        max(float(np.roll(_standard(profile), step) @ mean) / 12 for step in range(12))
        for profile in (_MAJOR, _MINOR)
    )


def _standard(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9))
