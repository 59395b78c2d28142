"""Samples as short-time spectra: what the features of the built-in encoder of music are made from."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Nothing above 12 kHz is heard, so that a file's own sampling rate, from 24 kHz up, does not show.
RATE = 24_000
FFT, HOP = 1024, 240
FRAMES_A_SECOND = RATE / HOP
BANDS = 40

_LOWEST_HZ, _HIGHEST_HZ = 40.0, 11_000.0
_LOUDNESS = 0.1  # the RMS of what is not silence, to which every sound is brought
_SILENCE = 1e-4  # of the loudest tenth of a second, in power: 40 dB down


def levelled(samples: NDArray[np.floating]) -> FloatArray:
    """At one loudness: how loud a file was stored says nothing about the music. Silence stays silence."""
    sound = samples.astype(np.float64)
    power = (framed(sound, RATE // 10, RATE // 20) ** 2).mean(axis=1)
    loudest = float(power.max())
    if loudest <= 0:
        return sound
    return np.asarray(sound * _LOUDNESS / np.sqrt(power[power > loudest * _SILENCE].mean()))


def framed(sound: FloatArray, size: int, hop: int) -> FloatArray:
    """(frames, size): every whole frame, or one, filled up with zeros, of what is shorter."""
    if len(sound) < size:
        sound = np.pad(sound, (0, size - len(sound)))
    return np.asarray(np.lib.stride_tricks.sliding_window_view(sound, size)[::hop])


def spectrogram(sound: FloatArray, size: int, hop: int) -> FloatArray:
    """Power, (frames, size // 2 + 1)."""
    spectrum = np.fft.rfft(framed(sound, size, hop) * np.hanning(size), axis=1)
    return np.asarray((spectrum.real**2 + spectrum.imag**2) / size)


def frequencies(size: int) -> FloatArray:
    return np.asarray(np.fft.rfftfreq(size, 1 / RATE), np.float64)


@cache
def mel_filters() -> FloatArray:
    """(FFT // 2 + 1, BANDS): triangles, evenly spread over the mel scale, each of sum 1."""
    edges = _hertz(np.linspace(_mel(_LOWEST_HZ), _mel(_HIGHEST_HZ), BANDS + 2))
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    at = frequencies(FFT)[:, None]
    weights = np.clip(np.minimum((at - low) / (middle - low), (high - at) / (high - middle)), 0, None)
    return np.asarray(weights / np.maximum(weights.sum(axis=0), 1e-9))


def decibels(power: FloatArray, *, floor: float = 1e-10) -> FloatArray:
    return np.asarray(10 * np.log10(np.maximum(power, floor)))


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _hertz(mel: FloatArray) -> FloatArray:
    return np.asarray(700 * (10 ** (mel / 2595) - 1))
