"""What happens to a recording after it was played. Signals are float64 arrays [channels, samples]."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Audio = NDArray[np.float64]
Pcm = NDArray[np.int16]
Moments = tuple[float, ...]  # seconds
PEAK = 10 ** (-1 / 20)  # no clip comes closer to full scale than -1 dBFS


def rms(audio: Audio) -> float:
    return float(np.sqrt(np.mean(audio**2)))


def _room(rate: int) -> Audio:
    """A small room's response: two channels of decaying noise, darker as it fades, after 12 ms."""
    rng = np.random.default_rng(0)
    t = np.arange(round(0.9 * rate)) / rate
    noise = rng.standard_normal((2, t.size))
    darker = np.array([np.convolve(row, np.ones(6) / 6, mode="same") for row in noise])
    fade = np.exp(-t / 0.05)
    response = (noise * 0.5 * fade + darker * (1 - fade)) * np.exp(-5.5 * t)
    response[:, : round(0.012 * rate)] = 0
    return np.asarray(response / np.sqrt(np.sum(response**2, axis=1, keepdims=True)))


def _fast_length(n: int) -> int:
    """The smallest length from `n` up that the FFT splits into twos, threes and a five."""
    return min(odd << max(0, (-(-n // odd) - 1).bit_length()) for odd in (1, 3, 5, 9, 15))


@lru_cache(maxsize=4)
def _room_spectrum(rate: int, length: int) -> NDArray[np.complex128]:
    return np.fft.rfft(_room(rate), length)


def reverberate(audio: Audio, *, wet: float, rate: int) -> Audio:
    """Add a touch of room, by FFT convolution; the length stays."""
    length = _fast_length(audio.shape[1] + rate)
    room = np.fft.irfft(np.fft.rfft(audio, length) * _room_spectrum(rate, length), length)
    return audio + wet * room[:, : audio.shape[1]]


def muffle(audio: Audio, *, strength: float, rate: int) -> Audio:
    """A blanket over the loudspeaker: little above 900 Hz, or 3 kHz for a mild case."""
    cutoff = 900 / strength**1.7
    frequency = np.fft.rfftfreq(audio.shape[1], 1 / rate)
    passed = 1 / np.sqrt(1 + (frequency / cutoff) ** 6)
    return np.asarray(np.fft.irfft(np.fft.rfft(audio) * passed, audio.shape[1]))


def hiss(audio: Audio, *, strength: float, rng: np.random.Generator) -> Audio:
    level = rms(audio) * 10 ** ((-32 + 14 * strength) / 20)
    return audio + level * rng.standard_normal(audio.shape)


def overdrive(audio: Audio, *, strength: float) -> Audio:
    """Flat tops: everything above a share of the peak is cut off. Stays audible after loudness matching."""
    ceiling = np.max(np.abs(audio)) * (0.3 - 0.18 * strength)
    return np.clip(audio, -ceiling, ceiling)


def click(audio: Audio, *, strength: float, rate: int, rng: np.random.Generator) -> tuple[Audio, Moments]:
    """Short cracks at random moments, returned in seconds."""
    seconds = audio.shape[1] / rate
    moments = np.sort(rng.uniform(0.6, seconds - 0.6, size=round(4 + 6 * strength)))
    t = np.arange(round(0.004 * rate))
    crack = np.exp(-t / (0.0006 * rate)) * np.where(t % 2, -1, 1)
    out = audio.copy()
    for moment in moments:
        start = round(float(moment) * rate)
        out[:, start : start + t.size] += 0.9 * np.max(np.abs(audio)) * crack
    return out, tuple(float(moment) for moment in moments)


def cut_short(audio: Audio, *, strength: float, rate: int) -> tuple[Audio, Moments]:
    """Stop in the middle of things, without a fade. The moment is in seconds."""
    keep = round(audio.shape[1] * (0.86 - 0.14 * strength))
    return audio[:, :keep], (keep / rate,)


def faded(audio: Audio, *, seconds_out: float, rate: int) -> Audio:
    n = round(seconds_out * rate)
    out = audio.copy()
    out[:, -n:] *= np.linspace(1, 0, n) ** 2
    return out


def at_level(audio: Audio, *, decibels: float) -> Audio:
    """Scaled to an RMS of `decibels` dBFS, or as near as the peak allows; nothing is limited."""
    gain = 10 ** (decibels / 20) / rms(audio)
    return audio * min(gain, PEAK / float(np.max(np.abs(audio))))


def as_pcm(audio: Audio) -> Pcm:
    """16-bit samples [samples, channels], as a WAV file has them."""
    return np.round(audio.T * 32767).astype(np.int16)
