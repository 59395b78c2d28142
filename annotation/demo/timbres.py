"""Pitched instruments: (frequency in Hz, seconds held, sample rate) -> mono signal, its release included."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from annotation.demo.signals import Signal, adsr, audible, frozen, partials, times

Timbre = Callable[[float, float, int], NDArray[np.float64]]


def _string(
    frequency: float, seconds: float, rate: int, *, ring: float, softness: float
) -> NDArray[np.float64]:
    """Karplus and Strong (1983), one period at a time, then resampled to the exact pitch.

    A whole-sample period can be 10 cents off; reading the result at frequency/actual corrects that.
    The string starts from a pluck near the bridge, not from pure noise: all pitches then sound alike.
    """
    period = int(rate / frequency - 0.5)
    ratio = frequency * (period + 0.5) / rate
    rows = int(np.ceil(seconds * rate * ratio / period)) + 2
    loss = 0.5 * 10 ** (-3 / (frequency * ring))
    out = np.zeros(rows * period + 1)
    out[1 : 1 + period] = _plucked_shape(period, softness=softness)
    for start in range(1 + period, out.size, period):
        ago = start - period
        out[start : start + period] = loss * (out[ago:start] + out[ago - 1 : start - 1])
    t = np.arange(round(seconds * rate))
    return np.asarray(np.interp(t * ratio + 1, np.arange(out.size), out))


def _plucked_shape(period: int, *, softness: float) -> NDArray[np.float64]:
    k = np.arange(1, period // 2)[:, None]
    position = 2 * np.pi * np.arange(period) / period
    partial = np.sin(0.19 * np.pi * k) / k**softness * np.cos(k * (position + 0.7))
    scrape = np.random.default_rng(period).uniform(-0.12, 0.12, period)
    shape = partial.sum(axis=0) + scrape - scrape.mean()
    return np.asarray(shape / np.max(np.abs(shape)))


def pluck(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(held + 0.25, attack=0.002, decay=0, sustain=1, release=0.25, rate=rate)
    return _string(frequency, envelope.size / rate, rate, ring=2.6, softness=1.1)[: envelope.size] * envelope


def harp(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(held + 0.9, attack=0.002, decay=0, sustain=1, release=0.5, rate=rate)
    return _string(frequency, envelope.size / rate, rate, ring=5.0, softness=1.6)[: envelope.size] * envelope


def electric_piano(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    """Two-operator FM (Chowning 1973): the index falls faster than the level, so a note mellows."""
    envelope = adsr(held, attack=0.004, decay=1.1, sustain=0.15, release=0.3, rate=rate)
    t = times(envelope.size / rate, rate)
    phase = 2 * np.pi * frequency * t
    index = (1.5 * np.exp(-4 * t) + 0.35) * min(1.0, 420 / frequency)
    tine = 0.12 * np.exp(-14 * t) * np.sin(phase * (7 if frequency < 900 else 3))
    return (np.sin(phase + index * np.sin(phase)) + tine) * envelope


def organ(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(held, attack=0.025, decay=0, sustain=1, release=0.12, rate=rate)
    t = times(envelope.size / rate, rate)
    phase = 2 * np.pi * frequency * t + 0.05 * np.sin(2 * np.pi * 5.6 * t)
    drawbars = audible((0.9, 0.6, 0.4, 0.3, 0, 0.18, 0, 0.14), frequency=frequency, rate=rate)
    return 0.55 * partials(phase, drawbars) * envelope


def bell(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    """The modes of a struck bar, 1 : 2.76 : 5.40, the high ones dying first."""
    envelope = adsr(held + 0.7, attack=0.002, decay=0.6, sustain=0.0, release=0.4, rate=rate)
    t = times(envelope.size / rate, rate)
    phase = 2 * np.pi * frequency * t
    modes = ((1.0, 1.0, 0.0), (2.756, 0.32, 5.0), (5.404, 0.14, 12.0))
    return envelope * sum(
        level * np.exp(-fall * t) * np.sin(ratio * phase)
        for ratio, level, fall in modes
        if ratio * frequency < 0.45 * rate
    )


def marimba(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(max(held, 0.15), attack=0.003, decay=0.22, sustain=0.0, release=0.25, rate=rate)
    t = times(envelope.size / rate, rate)
    phase = 2 * np.pi * frequency * t
    overtone = 0.3 * np.exp(-18 * t) * np.sin(3.93 * phase) + 0.1 * np.exp(-40 * t) * np.sin(9.2 * phase)
    return (np.sin(phase) + (overtone if 9.2 * frequency < 0.45 * rate else 0)) * envelope


def flute(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(held, attack=0.06, decay=0.5, sustain=0.8, release=0.14, rate=rate)
    t = times(envelope.size / rate, rate)
    vibrato = np.minimum(t / 0.4, 1) * 0.12 * np.sin(2 * np.pi * 5.1 * t)
    overtones = audible((1, 0.32, 0.14, 0.05), frequency=frequency, rate=rate)
    tone = partials(2 * np.pi * frequency * t + vibrato, overtones)
    breath = np.random.default_rng(round(frequency)).standard_normal(t.size)
    return np.asarray(0.75 * (tone + 0.015 * breath * (1 + 2 * np.exp(-t / 0.04))) * envelope)


def strings(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(held, attack=min(0.09, held / 2), decay=0, sustain=1, release=0.22, rate=rate)
    t = times(envelope.size / rate, rate)
    bow = audible([1 / k**1.3 for k in range(1, 15)], frequency=frequency, rate=rate)
    vibrato = 0.05 * np.sin(2 * np.pi * 5.3 * t)
    pair = sum(partials(2 * np.pi * frequency * cents * t + vibrato, bow) for cents in (0.9977, 1.0023))
    return 0.36 * pair * envelope


def bass(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
    envelope = adsr(held, attack=0.006, decay=0.8, sustain=0.35, release=0.09, rate=rate)
    t = times(envelope.size / rate, rate)
    phase = 2 * np.pi * frequency * t
    bright = partials(phase, (0, 0.5, 0.35, 0.2, 0.12, 0.06)) * np.exp(-5 * t)
    return (np.sin(phase) + 0.18 * np.sin(2 * phase) + bright) * envelope


INSTRUMENTS: dict[str, Timbre] = {
    "pluck": pluck,
    "harp": harp,
    "electric_piano": electric_piano,
    "organ": organ,
    "bell": bell,
    "marimba": marimba,
    "flute": flute,
    "strings": strings,
    "bass": bass,
}


@lru_cache(maxsize=256)
def note(instrument: str, pitch: int, held: float, rate: int) -> Signal:
    """One note at MIDI `pitch`; the same note comes back often, so it is kept."""
    frequency = 440.0 * 2 ** ((pitch - 69) / 12)
    return frozen(INSTRUMENTS[instrument](frequency, held, rate))
