"""Everyday sounds for the audio scenes: (seconds, sample rate, generator) -> mono signal, peak near 1.

Short sounds have a length of their own and ignore `seconds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# Building blocks of synthesis: envelopes, partials, filtered noise. Signals are mono, in about [-1, 1].


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


# Pitched instruments: (frequency in Hz, seconds held, sample rate) -> mono signal, its release included.


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


def struck_bar(frequency: float, held: float, rate: int) -> NDArray[np.float64]:
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
    "bell": struck_bar,
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


# Percussion: (sample rate) -> mono signal. Noise has a fixed seed: every hit of a drum is the same.


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


def drum_clap(rate: int) -> NDArray[np.float64]:
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
    "clap": drum_clap,
    "brush": brush,
    "shaker": shaker,
}


@lru_cache(maxsize=32)
def hit(drum: str, rate: int) -> Signal:
    return frozen(DRUMS[drum](rate))


# A plain singing voice: a buzz through the formants of each syllable's vowel, a breath for its consonant.


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


# What happens to a recording after it was played. Signals are float64 arrays [channels, samples].


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
