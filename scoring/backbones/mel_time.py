"""Rhythm: onsets, tempo, steadiness, percussion, repetition, from a mel spectrogram in decibels (frames, bands)."""

from __future__ import annotations

import numpy as np

from scoring.backbones.mel_spectra import BANDS, FRAMES_A_SECOND, FloatArray

_TEMPI = np.geomspace(50.0, 200.0, 36, endpoint=False)
# Where onsets recur after half a beat, one, two and four, there the tempo is.
_BEATS = ((0.5, 0.5), (1, 1.0), (2, 1.0), (4, 1.0))
_LONGEST_SECONDS = 6.0
_PARTS = ((0, 8), (8, 22), (22, 32), (32, BANDS))
_NEIGHBOURS_SECONDS, _NEIGHBOURS_BANDS = 0.25, 9
TEMPO_WIDTH = 2


def onsets(levels: FloatArray) -> FloatArray:
    """(frames, bands): by how many decibels each band grew over the last two frames."""
    grown = np.zeros_like(levels)
    grown[2:] = np.maximum(levels[2:] - levels[:-2], 0)
    return grown


def attack(grown: FloatArray) -> FloatArray:
    """How much, how unevenly and how strongly each part of the spectrum begins anew."""
    parts = np.stack([grown[:, low:high].mean(axis=1) for low, high in _PARTS], axis=1)
    strong = np.percentile(parts, 99, axis=0)
    return np.concatenate([(parts.mean(axis=0) - 1) / 0.6, (parts.std(axis=0) - 2.5) / 2, (strong - 13) / 10])


def recurrence(grown: FloatArray) -> FloatArray:
    """Autocorrelation of onsets at lags of 0, 1, … frames, 1 at lag 0."""
    strength = grown.mean(axis=1)
    strength = strength - strength.mean()
    size = 1 << (2 * len(strength) - 1).bit_length()
    spectrum = np.fft.rfft(strength, size)
    lags = min(len(strength) - 1, int(_LONGEST_SECONDS * FRAMES_A_SECOND)) + 1
    sums = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:lags]
    means = sums / (len(strength) - np.arange(lags))
    return np.asarray(means / means[0]) if means[0] > 1e-9 else np.zeros(lags)


def cyclic_tempo(recurring: FloatArray) -> FloatArray:
    """(TEMPO_WIDTH,) Where the tempo lies within its octave: 60 beats a minute and 120 are told alike, because
    listeners take one for the other (Grosche, Müller & Kurth, "Cyclic tempogram", ICASSP 2010). The nearer to length 1
    the clearer the tempo."""
    lags = 60 * FRAMES_A_SECOND / _TEMPI
    salience = sum(weight * _at(recurring, lags * beats) for beats, weight in _BEATS)
    weights = np.maximum(salience, 0) ** 4
    total = weights.sum()
    if total <= 1e-9:
        return np.zeros(TEMPO_WIDTH)
    return np.asarray(weights @ tempo_points(_TEMPI) / total)


def tempo_points(beats_a_minute: FloatArray) -> FloatArray:
    """(n, TEMPO_WIDTH) Tempi as points on a circle that an octave of tempi goes round once."""
    angles = 2 * np.pi * np.log2(beats_a_minute)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def steadiness(recurring: FloatArray) -> FloatArray:
    """How well onsets recur within one and a half seconds, four and six: a hand that sways loses it first."""
    found = [_most(recurring, low, high) for low, high in ((0.25, 1.5), (1.5, 4.0), (4.0, _LONGEST_SECONDS))]
    return (np.array(found) - [0.55, 0.5, 0.45]) / 0.2


def percussion(levels: FloatArray) -> FloatArray:
    """(4,) In each part of the spectrum, the share of power that is broad and brief rather than narrow and long
    (Fitzgerald, "Harmonic/percussive separation using median filtering", DAFx 2010)."""
    # Here: nothing else in the process needs this part of scipy.
    from scipy.ndimage import median_filter

    power = 10 ** (levels / 10)
    long = median_filter(power, (round(_NEIGHBOURS_SECONDS * FRAMES_A_SECOND), 1), mode="nearest")
    broad = median_filter(power, (1, _NEIGHBOURS_BANDS), mode="nearest")
    brief = power * broad**2 / (broad**2 + long**2 + 1e-12)
    shares = [brief[:, low:high].sum() / (power[:, low:high].sum() + 1e-9) for low, high in _PARTS]
    return (np.array(shares) - [0.35, 0.15, 0.35, 0.55]) / [0.2, 0.1, 0.25, 0.3]


def repetition(frames: FloatArray) -> FloatArray:
    """(2,) From one row per tenth of a second: how alike the sound is to itself some seconds before, at the best lag
    and over all: very where one bar goes round and round."""
    rows = frames - frames.mean(axis=0)
    rows = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6)
    alike = rows @ rows.T
    lags = range(12, len(rows) * 3 // 4)
    if len(lags) < 3:
        return np.zeros(2)
    found = np.array([np.diagonal(alike, lag).mean() for lag in lags])
    return (np.array([found.max(), found.mean()]) - [0.25, -0.05]) / [0.2, 0.08]


def _at(recurring: FloatArray, lags: FloatArray) -> FloatArray:
    return np.interp(lags, np.arange(len(recurring)), recurring, right=0.0)


def _most(recurring: FloatArray, low: float, high: float) -> float:
    within = recurring[round(low * FRAMES_A_SECOND) : round(high * FRAMES_A_SECOND)]
    return float(within.max()) if len(within) else 0.0
