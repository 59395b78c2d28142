"""Sound synthesis for the demo: notes, syllables and drum hits as signals, and the damage of a bad recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float32]  # mono, in about [-1, 1]
Samples = NDArray[np.float64]


def times(seconds: float, rate: int) -> Samples:
    """Sample instants from 0, in seconds."""
    return np.arange(max(1, round(seconds * rate))) / rate


def filtered_noise(seconds: float, *, low: float, high: float, rate: int) -> Samples:
    """Noise between two frequencies in Hz, with soft edges, at unit RMS. The same arguments give the same noise."""
    n = max(2, round(seconds * rate))
    spectrum = np.fft.rfft(np.random.default_rng(int(low)).standard_normal(n))
    frequency = np.fft.rfftfreq(n, 1 / rate)
    passed = 1 / np.sqrt(1 + (low / np.maximum(frequency, 1e-9)) ** 6) / np.sqrt(1 + (frequency / high) ** 6)
    noise = np.fft.irfft(spectrum * passed, n)
    return np.asarray(noise / (np.sqrt(np.mean(noise**2)) + 1e-12))


def _frozen(signal: Samples) -> Signal:
    """A read-only float32 copy, safe to share from a cache."""
    out: Signal = signal.astype(np.float32)
    out.setflags(write=False)
    return out


# Pitched instruments: additive synthesis.


@dataclass(frozen=True, kw_only=True)
class Timbre:
    """An instrument's partials and envelope.

    `partials` are (frequency ratio, level, decay per second). The envelope rises in `attack` seconds and falls to
    `sustain` with the time constant `decay`, where 0 means that it does not fall. `ring` is how long a note sounds
    after it is let go, before its `release`. `vibrato` is in radians of the fundamental.
    """

    partials: tuple[tuple[float, float, float], ...]
    attack: float
    decay: float = 0.0
    sustain: float = 1.0
    ring: float = 0.0
    release: float = 0.2
    vibrato: float = 0.0
    level: float = 1.0

    def envelope(self, held: float, rate: int) -> Samples:
        held += self.ring
        t = times(held + self.release, rate)
        rise = np.minimum(t / min(self.attack, held / 2), 1.0)
        sounding = np.maximum(np.minimum(t, held) - self.attack, 0)
        fall = self.sustain + (1 - self.sustain) * np.exp(-sounding / self.decay) if self.decay else 1.0
        tail = np.clip(1 - (t - held) / self.release, 0, 1) ** 2
        return np.asarray(rise * fall * tail)


def _string(*, softness: float, ring: float) -> tuple[tuple[float, float, float], ...]:
    """The partials of a plucked string: a pluck at 19 % of its length, high partials dying first."""
    return tuple(
        (k, abs(np.sin(0.19 * np.pi * k)) / k**softness, 7 / ring * (0.5 + 0.1 * k**1.5))
        for k in range(1, 13)
    )


TIMBRES = {
    "pluck": Timbre(partials=_string(softness=1.1, ring=2.6), attack=0.002, ring=0.25, release=0.25),
    "harp": Timbre(partials=_string(softness=1.6, ring=5.0), attack=0.002, ring=0.9, release=0.5),
    "electric_piano": Timbre(
        partials=((1, 1, 0), (2, 0.5, 3), (3, 0.2, 5), (7, 0.12, 14)),
        attack=0.004, decay=1.1, sustain=0.15, release=0.3,
    ),
    "organ": Timbre(
        partials=((1, 0.9, 0), (2, 0.6, 0), (3, 0.4, 0), (4, 0.3, 0), (6, 0.18, 0), (8, 0.14, 0)),
        attack=0.025, release=0.12, vibrato=0.05, level=0.55,
    ),
    # The modes of a struck bar.
    "bell": Timbre(
        partials=((1, 1, 0), (2.756, 0.32, 5), (5.404, 0.14, 12)),
        attack=0.002, decay=0.6, sustain=0.0, ring=0.7, release=0.4,
    ),
    "marimba": Timbre(
        partials=((1, 1, 0), (3.93, 0.3, 18), (9.2, 0.1, 40)),
        attack=0.003, decay=0.22, sustain=0.0, ring=0.1, release=0.25,
    ),
    "flute": Timbre(
        partials=((1, 1, 0), (2, 0.32, 0), (3, 0.14, 0), (4, 0.05, 0)),
        attack=0.06, decay=0.5, sustain=0.8, release=0.14, vibrato=0.12, level=0.75,
    ),
    # Two players, slightly out of tune with each other.
    "strings": Timbre(
        partials=tuple((k * cents, 1 / k**1.3, 0) for k in range(1, 11) for cents in (0.9977, 1.0023)),
        attack=0.09, release=0.22, vibrato=0.05, level=0.36,
    ),
    "bass": Timbre(
        partials=((1, 1, 0), (2, 0.18, 0), (2, 0.5, 5), (3, 0.35, 5), (4, 0.2, 5), (5, 0.12, 5)),
        attack=0.006, decay=0.8, sustain=0.35, release=0.09,
    ),
}  # fmt: skip


# First three formants in Hz, rounded from the usual tables for an adult voice (Peterson and Barney 1952).
_FORMANTS = {
    "a": (760, 1180, 2600), "e": (560, 1850, 2550), "i": (300, 2250, 3000),
    "o": (500, 900, 2500), "u": (330, 870, 2300), "y": (300, 2250, 3000),
}  # fmt: skip


def _voice(syllable: str, frequency: float) -> Timbre:
    """A plain singing voice: a buzz through the formants of the syllable's first vowel."""
    formants = _FORMANTS[next((letter for letter in syllable.lower() if letter in _FORMANTS), "a")]
    k = np.arange(1, int(5000 / frequency) + 1)
    widths, levels = np.array([90, 120, 180]), np.array([1.0, 0.5, 0.25])
    distance = (k[:, None] * frequency - np.array(formants)) / widths
    gains = ((levels / np.sqrt(1 + distance**2)).sum(axis=1) + 0.02) / k**0.6
    gains /= np.sqrt(np.sum(gains**2))
    partials = tuple((float(ratio), float(gain), 0.0) for ratio, gain in zip(k, gains, strict=True))
    return Timbre(partials=partials, attack=0.05, decay=0.6, sustain=0.75, release=0.1, vibrato=0.25)


@lru_cache(maxsize=256)
def note(instrument: str, pitch: int, held: float, rate: int, syllable: str = "") -> Signal:
    """One note at MIDI `pitch`, held for `held` seconds, its release included; sung where there is a syllable."""
    frequency = 440.0 * 2 ** ((pitch - 69) / 12)
    timbre = _voice(syllable, frequency) if syllable else TIMBRES[instrument]
    envelope = timbre.envelope(held, rate)
    t = times(envelope.size / rate, rate)
    sway = timbre.vibrato * np.minimum(t / 0.4, 1) * np.sin(2 * np.pi * 5.3 * t)
    cycles = frequency * t + sway / (2 * np.pi)
    tone = np.zeros(t.size, np.float32)
    for ratio, level, fall in timbre.partials:
        if ratio * frequency < 0.45 * rate:  # below the Nyquist frequency, with a margin for vibrato
            turn = ratio * cycles
            # Whole turns are taken off in double precision; the sine is four times as fast in single.
            partial = level * np.sin(np.float32(2 * np.pi) * (turn - np.rint(turn)).astype(np.float32))
            tone += partial * np.exp(-fall * t).astype(np.float32) if fall else partial
    return _frozen(timbre.level * tone * envelope)


# Percussion: bursts of noise, and a tone that drops in pitch.

# Seconds, lowest and highest frequency in Hz, seconds to rise, decay per second, level.
_NOISES = {
    "snare": (0.22, 1200, 9000, 0.0, 18, 0.4),
    "hat": (0.07, 7000, 15000, 0.0, 60, 0.2),
    "clap": (0.18, 900, 5000, 0.02, 25, 0.35),
    "brush": (0.26, 2000, 8000, 0.05, 9, 0.28),
    "shaker": (0.09, 5000, 11000, 0.025, 35, 0.35),
}


@lru_cache(maxsize=32)
def hit(drum: str, rate: int) -> Signal:
    """One hit of a drum; every hit is the same."""
    if drum == "kick":
        t = times(0.32, rate)
        sweep = 2 * np.pi * (46 * t + 95 / 28 * (1 - np.exp(-28 * t)))
        return _frozen(np.sin(sweep) * np.exp(-9 * t) + 0.1 * np.exp(-300 * t))
    seconds, low, high, rise, fall, level = _NOISES[drum]
    t = times(seconds, rate)
    swell = np.minimum(t / rise, 1) if rise else 1.0
    return _frozen(level * filtered_noise(seconds, low=low, high=high, rate=rate) * swell * np.exp(-fall * t))


# What happens to a recording after it was played. Signals are float64 arrays [channels, samples]. Each kind of damage
# returns the audio and the moments in seconds where it is heard; none where it is heard throughout.


Audio = NDArray[np.float64]
Pcm = NDArray[np.int16]
Moments = tuple[float, ...]
Damage = Callable[[Audio, float, int, np.random.Generator], tuple[Audio, Moments]]
PEAK = 10 ** (-1 / 20)  # no clip comes closer to full scale than -1 dBFS


def muffle(audio: Audio, strength: float, rate: int, rng: np.random.Generator) -> tuple[Audio, Moments]:
    """A low-pass filter, a blanket over the loudspeaker: little above 900 Hz, or 3 kHz for a mild case."""
    cutoff = 900 / strength**1.7
    frequency = np.fft.rfftfreq(audio.shape[1], 1 / rate)
    passed = 1 / np.sqrt(1 + (frequency / cutoff) ** 6)
    return np.asarray(np.fft.irfft(np.fft.rfft(audio) * passed, audio.shape[1])), ()


def hiss(audio: Audio, strength: float, rate: int, rng: np.random.Generator) -> tuple[Audio, Moments]:
    level = _rms(audio) * 10 ** ((-32 + 14 * strength) / 20)
    return audio + level * rng.standard_normal(audio.shape), ()


def overdrive(audio: Audio, strength: float, rate: int, rng: np.random.Generator) -> tuple[Audio, Moments]:
    """Flat tops: everything above a share of the peak is cut off. Stays audible after loudness matching."""
    ceiling = np.max(np.abs(audio)) * (0.3 - 0.18 * strength)
    return np.clip(audio, -ceiling, ceiling), ()


def cut_short(audio: Audio, strength: float, rate: int, rng: np.random.Generator) -> tuple[Audio, Moments]:
    """Stop in the middle of things, without a fade."""
    length = round(audio.shape[1] * (0.86 - 0.14 * strength))
    return audio[:, :length], (length / rate,)


def click(audio: Audio, strength: float, rate: int, rng: np.random.Generator) -> tuple[Audio, Moments]:
    """Short cracks at random moments."""
    seconds = audio.shape[1] / rate
    moments = np.sort(rng.uniform(0.6, seconds - 0.6, size=round(4 + 6 * strength)))
    t = np.arange(round(0.004 * rate))
    crack = np.exp(-t / (0.0006 * rate)) * np.where(t % 2, -1, 1)
    out = audio.copy()
    for moment in moments:
        start = round(float(moment) * rate)
        out[:, start : start + t.size] += 0.9 * np.max(np.abs(audio)) * crack
    return out, tuple(float(moment) for moment in moments)


# By flaw, in the order of a signal chain.
DAMAGES: dict[str, Damage] = {
    "muffled": muffle,
    "hiss": hiss,
    "clipping": overdrive,
    "abrupt_end": cut_short,
    "clicks": click,
}


def fade_out(audio: Audio, *, seconds: float, rate: int) -> Audio:
    n = round(seconds * rate)
    return np.concatenate([audio[:, :-n], audio[:, -n:] * np.linspace(1, 0, n) ** 2], axis=1)


def _rms(audio: Audio) -> float:
    return float(np.sqrt(np.mean(audio**2)))


def as_pcm(audio: Audio, *, decibels: float) -> Pcm:
    """16-bit samples [samples, channels], as a WAV file has them, at an RMS of `decibels` dBFS, or as near as the peak
    allows; nothing is limited."""
    gain = min(10 ** (decibels / 20) / _rms(audio), PEAK / float(np.max(np.abs(audio))))
    return np.round(audio.T * gain * 32767).astype(np.int16)
