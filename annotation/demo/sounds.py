"""Everyday sounds for the audio scenes: (seconds, sample rate, generator) -> mono signal, peak near 1.

Short sounds have a length of their own and ignore `seconds`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from annotation.demo.signals import filtered_noise, partials, times

Mono = NDArray[np.float64]
Maker = Callable[[float, int, np.random.Generator], Mono]


def _swept(t: Mono, frequency: Mono, rate: int) -> Mono:
    return np.asarray(2 * np.pi * np.cumsum(frequency) / rate)


def _hump(t: Mono, seconds: float) -> Mono:
    return np.asarray(np.sin(np.pi * np.clip(t / seconds, 0, 1)) ** 0.6)


def _edges(t: Mono, seconds: float, fade: float = 0.05) -> Mono:
    return np.asarray(np.clip(np.minimum(t, seconds - t) / fade, 0, 1))


def dog(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    """A bark: a rough voice that jumps up and falls, through a mouth that opens."""
    t = times(0.24, rate)
    pitch = 260 + 260 * np.exp(-(((t - 0.05) / 0.05) ** 2)) + 12 * rng.standard_normal()
    rough = 1 + 0.5 * np.sin(2 * np.pi * 70 * t)
    voice = partials(_swept(t, pitch, rate), [0.5, 1, 0.9, 0.6, 0.35, 0.2, 0.1]) * rough
    breath = filtered_noise(0.24, low=500, high=2500, rate=rate, rng=rng)
    return (0.35 * voice + 0.25 * breath) * np.minimum(t / 0.01, 1) * np.exp(-((t / 0.15) ** 3))


def bell(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    """A church bell: hum, prime, tierce, quint, nominal."""
    t = times(2.4, rate)
    modes = ((0.5, 0.5, 1), (1, 0.7, 1.5), (1.19, 0.5, 2), (1.5, 0.3, 2.6), (2, 0.6, 3), (2.74, 0.25, 5))
    turn = 2 * np.pi * 520 * t
    ring = sum(level * np.exp(-fall * t) * np.sin(ratio * turn) for ratio, level, fall in modes)
    return np.asarray(0.45 * ring * np.minimum(t / 0.003, 1) * np.clip((2.4 - t) / 0.3, 0, 1))


def knock(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(0.16, rate)
    wood = np.sin(2 * np.pi * 190 * t) * np.exp(-38 * t) + 0.6 * np.sin(2 * np.pi * 430 * t) * np.exp(-60 * t)
    return 0.8 * (wood + 0.4 * np.exp(-400 * t) * rng.standard_normal(t.size))


def footstep(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(0.18, rate)
    heel = np.sin(2 * np.pi * 85 * t) * np.exp(-40 * t)
    gravel = filtered_noise(0.18, low=900, high=4500, rate=rate, rng=rng)
    return np.asarray(0.7 * heel + 0.16 * gravel * np.exp(-30 * np.abs(t - 0.03)))


def clap(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(0.14, rate)
    return np.asarray(0.4 * filtered_noise(0.14, low=900, high=4000, rate=rate, rng=rng) * np.exp(-35 * t))


def drop(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    """A drop of water: the pitch of the bubble rises as it closes."""
    t = times(0.14, rate)
    return np.sin(_swept(t, 900 + 9000 * t, rate)) * np.minimum(t / 0.004, 1) * np.exp(-28 * t)


def bird(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    """A chirp of two quick notes."""
    t = times(0.3, rate)
    first = np.sin(_swept(t, 3200 + 5000 * t, rate)) * _hump(t, 0.12)
    second = np.sin(_swept(t, 4600 - 4000 * (t - 0.15), rate)) * _hump(t - 0.15, 0.13)
    return 0.6 * (first + second)


def beep(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    return _tone(700, 0.16, rate)


def long_beep(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    return _tone(700, 0.5, rate)


def low_tone(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    return _tone(330, 0.7, rate)


def high_tone(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    return _tone(660, 0.7, rate)


def _tone(frequency: float, seconds: float, rate: int) -> Mono:
    t = times(seconds, rate)
    return 0.6 * np.sin(2 * np.pi * frequency * t) * _edges(t, seconds, 0.015)


def rising(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    return _glide(300, 1200, seconds, rate)


def falling(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    return _glide(1200, 300, seconds, rate)


def _glide(start: float, stop: float, seconds: float, rate: int) -> Mono:
    t = times(seconds, rate)
    return 0.5 * np.sin(_swept(t, start * (stop / start) ** (t / seconds), rate)) * _edges(t, seconds)


def siren(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(seconds, rate)
    pitch = 850 - 300 * np.cos(2 * np.pi * 0.9 * t)
    return 0.3 * partials(_swept(t, pitch, rate), [1, 0.3, 0.15]) * _edges(t, seconds, 0.2)


def engine(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(seconds, rate)
    turn = 2 * np.pi * 48 * t + 0.3 * np.sin(2 * np.pi * 3 * t)
    firing = partials(turn, [1, 0.8, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2])
    return 0.3 * firing * (1 + 0.3 * np.sin(2 * np.pi * 24 * t)) * _edges(t, seconds, 0.15)


def approaching_engine(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(seconds, rate)
    return 1.6 * engine(seconds, rate, rng) * 10 ** (1.5 * (t / seconds - 1))


def rain(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    """A wash of noise with single drops on it."""
    t = times(seconds, rate)
    out = 0.09 * filtered_noise(seconds, low=800, high=9000, rate=rate, rng=rng)[: t.size]
    drops, patter = round(60 * seconds), np.zeros(t.size)
    patter[rng.integers(0, t.size, size=drops)] = rng.uniform(0.3, 1.0, size=drops)
    fade = np.exp(-times(0.004, rate) / 0.0008)
    tick = fade * rng.standard_normal(fade.size)
    return np.asarray((out + 0.3 * np.convolve(patter, tick)[: t.size]) * _edges(t, seconds, 0.2))


def crickets(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    """Pulses of a high tone, three to a chirp, a chirp every half second."""
    t = times(seconds, rate)
    chirp = t % 0.5
    gate = (chirp < 0.21) * np.maximum(0, np.sin(2 * np.pi * chirp / 0.07)) ** 2
    return np.asarray(0.25 * np.sin(2 * np.pi * 4400 * t) * gate * _edges(t, seconds, 0.2))


def thunder(seconds: float, rate: int, rng: np.random.Generator) -> Mono:
    t = times(seconds, rate)
    roll = 1 + 0.6 * np.sin(2 * np.pi * 1.7 * t) * np.sin(2 * np.pi * 0.6 * t + 1)
    noise = filtered_noise(seconds, low=30, high=180, rate=rate, rng=rng)[: t.size]
    return np.asarray(0.3 * noise * roll * np.minimum(t / 0.08, 1) * np.exp(-2.2 * t / seconds))


SOUNDS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        dog, bell, knock, footstep, clap, drop, bird, beep, long_beep, low_tone, high_tone, rising,
        falling, siren, engine, approaching_engine, rain, crickets, thunder,
    )
}  # fmt: skip
