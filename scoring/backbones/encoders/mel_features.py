"""Acoustic features from mel spectra: timbre, clicks, clipping, rhythm, tempo, chroma and key.

Each function gives numbers of which music lies between about -2 and 2: the centres and units in which they are told
are rounded, and of no other meaning.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

# ── short-time spectra ──

FloatArray = NDArray[np.float64]

# Nothing above 12 kHz is heard, so that a file's own sampling rate, from 24 kHz up, does not show.
RATE = 24_000
FFT, HOP = 1024, 240
FRAMES_PER_SECOND = RATE / HOP
BANDS = 40

_LOWEST_BAND_HZ, _HIGHEST_BAND_HZ = 40.0, 11_000.0
_LOUDNESS = 0.1  # the RMS of what is not silence, to which every sound is brought
_SILENCE = 1e-4  # of the loudest tenth of a second, in power: 40 dB down


def normalize_loudness(samples: NDArray[np.floating]) -> FloatArray:
    """At one loudness: how loud a file was stored says nothing about the music. Silence stays silence."""
    sound = samples.astype(np.float64)
    power = (split_frames(sound, RATE // 10, RATE // 20) ** 2).mean(axis=1)
    loudest = float(power.max())
    if loudest <= 0:
        return sound
    return np.asarray(sound * _LOUDNESS / np.sqrt(power[power > loudest * _SILENCE].mean()))


def split_frames(sound: FloatArray, size: int, hop: int) -> FloatArray:
    """(frames, size): every whole frame, or one, filled up with zeros, of what is shorter."""
    if len(sound) < size:
        sound = np.pad(sound, (0, size - len(sound)))
    return np.asarray(np.lib.stride_tricks.sliding_window_view(sound, size)[::hop])


def spectrogram(sound: FloatArray, size: int, hop: int) -> FloatArray:
    """Power, (frames, size // 2 + 1)."""
    spectrum = np.fft.rfft(split_frames(sound, size, hop) * np.hanning(size), axis=1)
    return np.asarray((spectrum.real**2 + spectrum.imag**2) / size)


def frequencies(size: int) -> FloatArray:
    return np.asarray(np.fft.rfftfreq(size, 1 / RATE), np.float64)


@cache
def mel_filters() -> FloatArray:
    """(FFT // 2 + 1, BANDS): triangles, evenly spread over the mel scale, each of sum 1."""
    edges = _mel_to_hertz(
        np.linspace(_hertz_to_mel(_LOWEST_BAND_HZ), _hertz_to_mel(_HIGHEST_BAND_HZ), BANDS + 2)
    )
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    at = frequencies(FFT)[:, None]
    weights = np.clip(np.minimum((at - low) / (middle - low), (high - at) / (high - middle)), 0, None)
    return np.asarray(weights / np.maximum(weights.sum(axis=0), 1e-9))


def decibels(power: FloatArray, *, floor: float = 1e-10) -> FloatArray:
    return np.asarray(10 * np.log10(np.maximum(power, floor)))


def _hertz_to_mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _mel_to_hertz(mel: FloatArray) -> FloatArray:
    return np.asarray(700 * (10 ** (mel / 2595) - 1))


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


def spectrum_statistics(levels: FloatArray) -> FloatArray:
    """Mean, spread and floor (the tenth of frames with the least) in pairs of bands."""
    loudness = levels.max(axis=1)
    heard = levels[loudness >= loudness.max() - 40]
    paired = [
        row.reshape(BANDS // 2, 2).mean(axis=1)
        for row in (heard.mean(axis=0), heard.std(axis=0), np.percentile(levels, 10, axis=0))
    ]
    mean, spread, floor = paired
    return np.concatenate([(mean + 28) / 15, (spread - 10) / 4, (floor + 43) / 17])


def timbre(power: FloatArray) -> FloatArray:
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


def click_rates(sound: FloatArray) -> FloatArray:
    """Cracks per second: much louder, in the third difference, than all just before and after."""
    sharp = (split_frames(np.diff(sound, 3), RATE // 1000, RATE // 1000) ** 2).max(axis=1)
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


def clipping(sound: FloatArray) -> FloatArray:
    """How peaks stand over the mean, and how much of the sound lies just below the highest: all of it where what was
    too loud has been cut off."""
    size = np.abs(sound)
    middle, most, nearly, peak = np.percentile(size, (50, 90, 99, 99.9))
    rms = np.sqrt((sound**2).mean())
    crest = 20 * np.log10(np.array([middle, most, nearly, peak]) / max(rms, 1e-9) + 1e-6)
    near = [np.log10(1e-4 + (size > peak * share).mean()) for share in (0.95, 0.9, 0.8)]
    peaks = np.abs(split_frames(sound, RATE // 20, RATE // 40)).max(axis=1)
    loud = peaks[peaks > peaks.max() * 0.05]
    varied = [20 * np.log10(loud + 1e-4).std() if len(loud) else 0.0]
    return np.concatenate(
        [
            (crest - [-6, 4, 8.5, 11.5]) / [2, 0.6, 0.9, 1.5],
            (np.array(near) - [-2.7, -2.5, -2.2]) / 0.4,
            (np.array(varied) - 4.5) / 1.5,
        ]
    )


def ending_levels(sound: FloatArray) -> FloatArray:
    """(ENDS,) The level of the last moments under that of the whole: far down where the music has ended."""
    whole = decibels((sound**2).mean())
    last = [decibels((sound[-round(seconds * RATE) :] ** 2).mean(), floor=1e-7) for seconds in _END_SECONDS]
    return (np.array(last) - whole + [40, 35, 25, 18, 8]) / 15


# ── rhythm: onsets, tempo, steadiness, percussion, repetition, from a mel spectrogram in decibels (frames, bands) ──

_TEMPO_GRID = np.geomspace(50.0, 200.0, 36, endpoint=False)
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


def onset_autocorrelation(grown: FloatArray) -> FloatArray:
    """Autocorrelation of onsets at lags of 0, 1, … frames, 1 at lag 0."""
    strength = grown.mean(axis=1)
    strength = strength - strength.mean()
    size = 1 << (2 * len(strength) - 1).bit_length()
    spectrum = np.fft.rfft(strength, size)
    lags = min(len(strength) - 1, int(_LONGEST_SECONDS * FRAMES_PER_SECOND)) + 1
    sums = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:lags]
    means = sums / (len(strength) - np.arange(lags))
    return np.asarray(means / means[0]) if means[0] > 1e-9 else np.zeros(lags)


def cyclic_tempo(recurring: FloatArray) -> FloatArray:
    """(TEMPO_WIDTH,) Where the tempo lies within its octave: 60 beats a minute and 120 are told alike, because
    listeners take one for the other (Grosche, Müller & Kurth, "Cyclic tempogram", ICASSP 2010). The nearer to length 1
    the clearer the tempo."""
    lags = 60 * FRAMES_PER_SECOND / _TEMPO_GRID
    salience = sum(weight * _interpolate(recurring, lags * beats) for beats, weight in _BEATS)
    weights = np.maximum(salience, 0) ** 4
    total = weights.sum()
    if total <= 1e-9:
        return np.zeros(TEMPO_WIDTH)
    return np.asarray(weights @ tempo_points(_TEMPO_GRID) / total)


def tempo_points(beats_a_minute: FloatArray) -> FloatArray:
    """(n, TEMPO_WIDTH) Tempi as points on a circle that an octave of tempi goes round once."""
    angles = 2 * np.pi * np.log2(beats_a_minute)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def steadiness(recurring: FloatArray) -> FloatArray:
    """How well onsets recur within one and a half seconds, four and six: a hand that sways loses it first."""
    highest = [
        _highest_within(recurring, low, high)
        for low, high in ((0.25, 1.5), (1.5, 4.0), (4.0, _LONGEST_SECONDS))
    ]
    return (np.array(highest) - [0.55, 0.5, 0.45]) / 0.2


def percussion(levels: FloatArray) -> FloatArray:
    """(4,) In each part of the spectrum, the share of power that is broad and brief rather than narrow and long
    (Fitzgerald, "Harmonic/percussive separation using median filtering", DAFx 2010)."""
    # Here: nothing else in the process needs this part of scipy.
    from scipy.ndimage import median_filter

    power = 10 ** (levels / 10)
    long = median_filter(power, (round(_NEIGHBOURS_SECONDS * FRAMES_PER_SECOND), 1), mode="nearest")
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
    likeness = np.array([np.diagonal(alike, lag).mean() for lag in lags])
    return (np.array([likeness.max(), likeness.mean()]) - [0.25, -0.05]) / [0.2, 0.08]


def _interpolate(recurring: FloatArray, lags: FloatArray) -> FloatArray:
    return np.interp(lags, np.arange(len(recurring)), recurring, right=0.0)


def _highest_within(recurring: FloatArray, low: float, high: float) -> float:
    within = recurring[round(low * FRAMES_PER_SECOND) : round(high * FRAMES_PER_SECOND)]
    return float(within.max()) if len(within) else 0.0


# ── pitch: chroma, key, mode, and the share of tones outside the key ──

_FFT, _HOP = 8192, 2400
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
    return np.asarray(peaks @ _pitch_class_filters())


@cache
def _pitch_class_filters() -> FloatArray:
    """(bins, 12)"""
    at = frequencies(_FFT)
    pitch = 69 + 12 * np.log2(np.maximum(at, 1.0) / 440)
    near = np.exp(-0.5 * ((pitch[:, None] - _PITCHES) / _WIDTH) ** 2)
    near[(at <= _LOWEST_HZ) | (at >= _HIGHEST_HZ)] = 0
    return np.asarray(near @ (_PITCHES[:, None] % 12 == np.arange(12)).astype(np.float64))


def major_or_minor(tones: FloatArray) -> float:
    """From (frames, 12): above 0 for major, below for minor, from the correlation with the best key of either."""
    major, minor = _best_keys(tones)
    return float(np.clip((major - minor) / 0.25, -2, 2))


def key_clarity(tones: FloatArray) -> FloatArray:
    """(5,) How clear the key is, how much sounds outside of the scale that fits best, on the whole, at worst and how
    unevenly, and how alike the tones are from second to second."""
    total = tones.sum(axis=1)
    if total.max() <= 1e-9:
        return np.zeros(5)
    mean = tones.mean(axis=0) / tones.mean(axis=0).sum()
    scale = max((np.roll(_MAJOR_SCALE, step) for step in range(12)), key=lambda one: float(one @ mean))
    heard = tones[total > total.max() * 0.01]
    outside = 1 - heard @ scale / heard.sum(axis=1)
    figures = [
        max(_best_keys(tones)),
        np.log(1 - scale @ mean + 1e-3),
        outside.max(),
        float(np.percentile(outside, 90)),
        outside.std(),
    ]
    return (np.array(figures) - [0.75, -3.0, 0.3, 0.12, 0.07]) / [0.1, 0.7, 0.15, 0.08, 0.04]


def _best_keys(tones: FloatArray) -> tuple[float, float]:
    mean = _standard(tones.mean(axis=0))
    return tuple(  # type: ignore[return-value]
        max(float(np.roll(_standard(profile), step) @ mean) / 12 for step in range(12))
        for profile in (_MAJOR, _MINOR)
    )


def _standard(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean()) / (values.std() + 1e-9))
