"""A plain singing voice: a buzz through the formants of each syllable's vowel, a breath for its consonant."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from annotation.demo.signals import Signal, adsr, filtered_noise, frozen, partials, times

# First three formants in Hz, rounded from the usual tables for an adult voice (Peterson and Barney 1952).
_FORMANTS = {
    "ah": (760, 1180, 2600),
    "eh": (560, 1850, 2550),
    "ee": (300, 2250, 3000),
    "oh": (500, 900, 2500),
    "oo": (330, 870, 2300),
    "uh": (620, 1190, 2450),
}
# The first spelling found in the syllable decides; longer spellings come first.
_SPELLINGS = (
    ("igh", "ah"), ("ee", "ee"), ("ea", "ee"), ("oo", "oo"), ("ou", "ah"), ("ow", "oh"), ("oa", "oh"),
    ("ai", "eh"), ("ay", "eh"), ("a", "ah"), ("e", "eh"), ("i", "ee"), ("o", "oh"), ("u", "uh"), ("y", "ee"),
)  # fmt: skip
_HISSING = ("s", "sh", "ch", "t", "k", "c", "f", "th", "p", "h")


def vowel_of(syllable: str) -> str:
    return next((vowel for spelling, vowel in _SPELLINGS if spelling in syllable.lower()), "uh")


def _resonance(frequency: NDArray[np.float64], vowel: str) -> NDArray[np.float64]:
    """Gain of the vocal tract: one resonance per formant, narrower and stronger when lower."""
    levels, widths = (1.0, 0.5, 0.25), (90.0, 120.0, 180.0)
    curves = [
        level / np.sqrt(1 + ((frequency - formant) / width) ** 2)
        for formant, level, width in zip(_FORMANTS[vowel], levels, widths, strict=True)
    ]
    return np.asarray(sum(curves) + 0.02)


def _consonant(syllable: str, rate: int) -> NDArray[np.float64]:
    if not syllable.lower().startswith(_HISSING):
        return np.zeros(1)
    low = 4500.0 if syllable.lower().startswith(("s", "ch")) else 2500.0
    noise = filtered_noise(0.07, low=low, high=9000, rate=rate, rng=np.random.default_rng(len(syllable)))
    return 0.05 * noise * np.hanning(noise.size)


@lru_cache(maxsize=256)
def sung(syllable: str, pitch: int, held: float, rate: int) -> Signal:
    """One syllable at MIDI `pitch`."""
    frequency = 440.0 * 2 ** ((pitch - 69) / 12)
    envelope = adsr(held, attack=0.05, decay=0.6, sustain=0.75, release=0.1, rate=rate)
    t = times(envelope.size / rate, rate)
    scoop = -0.03 * np.exp(-t / 0.05)  # a voice slides into its note
    vibrato = 0.008 * np.clip((t - 0.18) / 0.25, 0, 1) * np.sin(2 * np.pi * 5.4 * t)
    phase = 2 * np.pi * np.cumsum(frequency * (1 + scoop + vibrato)) / rate
    k = np.arange(1.0, int(min(5000.0, 0.45 * rate) / frequency) + 1)
    amplitudes = _resonance(k * frequency, vowel_of(syllable)) / k**0.6
    tone = partials(phase, list(amplitudes / np.sqrt(np.sum(amplitudes**2)))) * envelope
    breath = _consonant(syllable, rate)
    tone[: breath.size] += breath[: tone.size]
    return frozen(tone)
