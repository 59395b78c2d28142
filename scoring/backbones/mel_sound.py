"""How a recording sounds: its spectrum, its noise, clicks, flat tops, and how it ends.

Each function gives numbers of which music lies between about -2 and 2: the centres and units in which they are told
are rounded, and of no other meaning.
"""

from __future__ import annotations

import numpy as np

from scoring.backbones.mel_spectra import (
    BANDS,
    FFT,
    HOP,
    RATE,
    FloatArray,
    decibels,
    framed,
    frequencies,
    mel_filters,
    spectrogram,
)

# Decibels below the mean of all bands at which a band counts as empty.
_EMPTY = -70.0
_FLATNESS_HZ = ((100, 1000), (1000, 4000), (4000, 8000), (8000, 11_500))
_END_SECONDS = (0.02, 0.05, 0.15, 0.3, 1.0)
# A click stands out by so many decibels over what lies 5 to 25 ms to either side of it.
_CLICK_DECIBELS = (15, 20, 25, 30)
ENDS = len(_END_SECONDS)


def mel_levels(sound: FloatArray) -> FloatArray:
    """(frames, BANDS) in decibels over the mean of all."""
    mel = spectrogram(sound, FFT, HOP) @ mel_filters()
    return np.asarray(np.maximum(decibels(mel, floor=1e-9) - decibels(mel.mean()), _EMPTY))


def spectrum(levels: FloatArray) -> FloatArray:
    """Mean, spread and floor (the tenth of frames with the least) in pairs of bands."""
    loudness = levels.max(axis=1)
    heard = levels[loudness >= loudness.max() - 40]
    paired = [
        row.reshape(BANDS // 2, 2).mean(axis=1)
        for row in (heard.mean(axis=0), heard.std(axis=0), np.percentile(levels, 10, axis=0))
    ]
    mean, spread, floor = paired
    return np.concatenate([(mean + 28) / 15, (spread - 10) / 4, (floor + 43) / 17])


def colour(power: FloatArray) -> FloatArray:
    """From a power spectrogram: centre and its spread, roll-off, flatness, and what there is above 6 kHz."""
    at = frequencies(FFT)
    total = power.sum(axis=1)
    heard = power[total >= total.max() * 1e-4]
    sums = heard.sum(axis=1) + 1e-12
    centre = heard @ at / sums
    reached = np.cumsum(heard, axis=1) / sums[:, None]
    rolled = [np.log2(at[(reached > share).argmax(axis=1)] + 20).mean() for share in (0.5, 0.85, 0.95, 0.99)]
    flat = [_flatness(power[:, (at > low) & (at < high)]) for low, high in _FLATNESS_HZ]
    high = decibels(power[:, at > 6000].sum(axis=1)) - decibels(total.mean())
    return np.concatenate(
        [
            [np.log2((centre.mean() + 20) / 700), (np.log2(centre + 50).std() - 0.5) / 0.25],
            (np.array(rolled) - [8.7, 9.7, 10.5, 11.5]) / 0.8,
            (np.array(flat) - [-3, -5, -3, -0.5]) / [1, 2, 2, 0.7],
            (
                np.array([decibels((10 ** (high / 10)).mean()), *np.percentile(high, (5, 50))])
                - [-40, -68, -55]
            )
            / 20,
        ]
    )


def _flatness(power: FloatArray) -> float:
    """The geometric mean over the arithmetic one, as a logarithm, averaged over frames."""
    return float((np.log(power + 1e-9).mean(axis=1) - np.log(power.mean(axis=1) + 1e-9)).mean())


def clicks(sound: FloatArray) -> FloatArray:
    """How often a second something cracks: much louder, in the third difference, than all just before and after."""
    sharp = (framed(np.diff(sound, 3), RATE // 1000, RATE // 1000) ** 2).max(axis=1)
    level = decibels(sharp, floor=1e-12)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(level, 25, mode="edge"), 51)
    beside = np.partition(np.concatenate([around[:, :20], around[:, -20:]], axis=1), 30, axis=1)[:, 30]
    stands_out = np.where(level >= around[:, 5:-5].max(axis=1), level - beside, 0.0)
    rates = [np.log1p((stands_out > threshold).sum() * RATE / len(sound)) for threshold in _CLICK_DECIBELS]
    spikes = np.percentile(level, (50, 90, 99, 99.9))
    return np.concatenate(
        [
            (np.array(rates) - [0.3, 0.2, 0.1, 0.1]) / 0.3,
            (np.array([spikes[3] - spikes[0], spikes[3] - spikes[2]]) - [23, 4]) / [10, 4],
        ]
    )


def tops(sound: FloatArray) -> FloatArray:
    """How peaks stand over the mean, and how much of the sound lies just below the highest: all of it where what was
    too loud has been cut off."""
    size = np.abs(sound)
    middle, most, nearly, peak = np.percentile(size, (50, 90, 99, 99.9))
    rms = np.sqrt((sound**2).mean())
    crest = 20 * np.log10(np.array([middle, most, nearly, peak]) / max(rms, 1e-9) + 1e-6)
    near = [np.log10(1e-4 + (size > peak * share).mean()) for share in (0.95, 0.9, 0.8)]
    peaks = np.abs(framed(sound, RATE // 20, RATE // 40)).max(axis=1)
    loud = peaks[peaks > peaks.max() * 0.05]
    varied = [20 * np.log10(loud + 1e-4).std() if len(loud) else 0.0]
    return np.concatenate(
        [
            (crest - [-6, 4, 8.5, 11.5]) / [2, 0.6, 0.9, 1.5],
            (np.array(near) - [-2.7, -2.5, -2.2]) / 0.4,
            (np.array(varied) - 4.5) / 1.5,
        ]
    )


def ending(sound: FloatArray) -> FloatArray:
    """(ENDS,) The level of the last moments under that of the whole: far down where the music has ended."""
    whole = decibels((sound**2).mean())
    last = [decibels((sound[-round(seconds * RATE) :] ** 2).mean(), floor=1e-7) for seconds in _END_SECONDS]
    return (np.array(last) - whole + [40, 35, 25, 18, 8]) / 15
