"""Percussion: (sample rate) -> mono signal. Noise has a fixed seed: every hit of a drum is the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from annotation.demo.signals import Signal, filtered_noise, frozen, times

Drum = Callable[[int], NDArray[np.float64]]


def _hiss(seconds: float, *, low: float, high: float, fall: float, rate: int) -> NDArray[np.float64]:
    noise = filtered_noise(seconds, low=low, high=high, rate=rate, rng=np.random.default_rng(int(low)))
    return 0.3 * noise * np.exp(-fall * times(seconds, rate))


def kick(rate: int) -> NDArray[np.float64]:
    t = times(0.32, rate)
    phase = 2 * np.pi * (46 * t + 95 / 28 * (1 - np.exp(-28 * t)))
    return np.sin(phase) * np.exp(-9 * t) + 0.1 * np.exp(-300 * t)


def snare(rate: int) -> NDArray[np.float64]:
    t = times(0.22, rate)
    body = 0.5 * np.sin(2 * np.pi * 185 * t) * np.exp(-22 * t)
    return body + _hiss(0.22, low=1200, high=9000, fall=18, rate=rate)


def hat(rate: int) -> NDArray[np.float64]:
    return 0.6 * _hiss(0.07, low=7000, high=15000, fall=60, rate=rate)


def clap(rate: int) -> NDArray[np.float64]:
    one = _hiss(0.18, low=900, high=5000, fall=30, rate=rate)
    out = one.copy()
    for delay in (0.011, 0.023):
        shift = round(delay * rate)
        out[shift:] += one[:-shift]
    return 0.7 * out


def brush(rate: int) -> NDArray[np.float64]:
    t = times(0.26, rate)
    swell = np.minimum(t / 0.05, 1) * np.exp(-9 * t)
    noise = filtered_noise(0.26, low=2000, high=8000, rate=rate, rng=np.random.default_rng(7))
    return np.asarray(0.28 * noise * swell)


def shaker(rate: int) -> NDArray[np.float64]:
    t = times(0.09, rate)
    swell = np.minimum(t / 0.025, 1) * np.exp(-35 * t)
    noise = filtered_noise(0.09, low=5000, high=11000, rate=rate, rng=np.random.default_rng(8))
    return np.asarray(0.35 * noise * swell)


DRUMS: dict[str, Drum] = {
    "kick": kick,
    "snare": snare,
    "hat": hat,
    "clap": clap,
    "brush": brush,
    "shaker": shaker,
}


@lru_cache(maxsize=32)
def hit(drum: str, rate: int) -> Signal:
    return frozen(DRUMS[drum](rate))
