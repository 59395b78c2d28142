"""Building blocks of synthesis: envelopes, partials, filtered noise. Signals are mono, in about [-1, 1]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float32]
Phase = NDArray[np.float64]


def times(seconds: float, rate: int) -> Phase:
    """Sample instants from 0, in seconds."""
    return np.arange(max(1, round(seconds * rate))) / rate


def adsr(
    held: float, *, attack: float, decay: float, sustain: float, release: float, rate: int
) -> NDArray[np.float64]:
    """Envelope of a note held for `held` seconds; it sounds for `held + release`."""
    t = times(held + release, rate)
    level_at_release = 1.0 if decay == 0 else sustain + (1 - sustain) * np.exp(-max(held - attack, 0) / decay)
    rise = np.minimum(t / attack, 1.0)
    fall = sustain + (1 - sustain) * np.exp(-np.maximum(t - attack, 0) / decay) if decay else np.ones_like(t)
    tail = level_at_release * np.clip(1 - (t - held) / release, 0, 1) ** 2
    return np.where(t < held, rise * fall, np.minimum(rise, 1) * tail)


def partials(phase: Phase, amplitudes: Sequence[float]) -> NDArray[np.float64]:
    """Sum of amplitudes[k-1] * sin(k * phase).

    By sin((k+1)x) = 2 cos x sin kx - sin((k-1)x): one sine and one cosine however many partials.
    """
    before, now, twice_cosine = np.zeros_like(phase), np.sin(phase), 2 * np.cos(phase)
    total = np.zeros_like(phase)
    for amplitude in amplitudes:
        total += amplitude * now
        before, now = now, twice_cosine * now - before
    return total


def audible(amplitudes: Sequence[float], *, frequency: float, rate: int) -> Sequence[float]:
    """The partials that stay below the Nyquist frequency, with a margin for vibrato."""
    return amplitudes[: max(1, int(0.45 * rate / frequency))]


def filtered_noise(
    seconds: float, *, low: float, high: float, rate: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Noise between two frequencies in Hz, with soft edges, at unit RMS."""
    n = max(2, round(seconds * rate))
    spectrum = np.fft.rfft(rng.standard_normal(n))
    frequency = np.fft.rfftfreq(n, 1 / rate)
    passed = 1 / np.sqrt(1 + (low / np.maximum(frequency, 1e-9)) ** 6) / np.sqrt(1 + (frequency / high) ** 6)
    noise = np.fft.irfft(spectrum * passed, n)
    return np.asarray(noise / (np.sqrt(np.mean(noise**2)) + 1e-12))


def frozen(signal: NDArray[np.float64]) -> Signal:
    """A read-only float32 copy, safe to share from a cache."""
    out: Signal = signal.astype(np.float32)
    out.setflags(write=False)
    return out
