"""The sounds of the listening checks: 48 kHz stereo, the same for the same seed.

All are made for the volume that the first of them sets: what raters will judge is played at -23 LUFS, and so is the
noise by which they set the volume; the others lie within 2 LU of it. Levels are of full scale (dBFS), tones by their
peak, noises by their root mean square. Fades are raised cosines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.audio.decode import Samples
from annotation.audio.flac import FlacWriter, quantise
from annotation.audio.loudness import LoudnessMeter
from annotation.audio.parts import part_header, part_offsets, read_streaminfo

RATE = 48_000
TARGET_LUFS = -23.0
LEVEL_SECONDS = 8.0
# Some devices swallow the first moments after silence.
LEAD_S = 0.3
INTERVAL_S = 1.0
GAP_S = 0.5

ANTIPHASE_HZ = 200.0
TONE_DBFS = -20.0
QUIETER_DB = 6.0
TONE_FADE_S = 0.1

HUGGINS_HZ = 600.0
# Half the width of the shifted band, as a share of its centre.
HUGGINS_WIDTH = 0.06
NOISE_DBFS = -29.0
NOISE_FADE_S = 0.03

EAR_HZ = 440.0
EAR_DBFS = -17.0
EAR_FADE_S = 0.02

# What every sound of a kind is padded to, a quarter more than any takes: no size tells which sound it is.
SIZES = {"level": 640_000, "left_right": 32_000, "antiphase": 64_000, "huggins": 300_000}

Signal = NDArray[np.float64]


def intervals(kind: str) -> list[tuple[float, float]]:
    """From when to when each interval of a trial sounds, in seconds; the noise to set the volume by is one."""
    if kind == "level":
        return [(0.0, LEVEL_SECONDS)]
    starts = [LEAD_S + n * (INTERVAL_S + GAP_S) for n in range(1 if kind == "left_right" else 3)]
    return [(start, start + INTERVAL_S) for start in starts]


def synthesise(kind: str, trial: Mapping[str, Any]) -> Samples:
    """A trial's sound, shape (2, n): left, then right. `trial` is one of `listening.rules.checks.draw_trials`."""
    rng = np.random.default_rng(trial["seed"])
    if kind == "level":
        return level_noise(rng)
    if kind == "left_right":
        return _laid_out([one_ear(trial["key"])])
    if kind == "antiphase":
        return _laid_out([tone(quiet=n == trial["key"], antiphase=n == trial["antiphase"]) for n in range(3)])
    return _laid_out([huggins_noise(rng, hidden_tone=n == trial["key"]) for n in range(3)])


def encode(kind: str, samples: Samples) -> bytes:
    """A FLAC file of `SIZES[kind]` bytes, without tags or digest."""
    with tempfile.TemporaryDirectory(prefix="concord-check-") as folder:
        path = Path(folder) / "sound.flac"
        with FlacWriter(path, channels=2, bits=16, rate=RATE) as writer:
            writer.push(quantise(samples, bits=16))
        file = BytesIO(path.read_bytes())
    offsets = part_offsets(file)
    streaminfo = read_streaminfo(file)
    frames = file.getvalue()[offsets[0] : offsets[-1]]
    return (
        part_header(streaminfo, n_samples=samples.shape[1], n_frame_bytes=len(frames), size=SIZES[kind])
        + frames
    )


def level_noise(rng: np.random.Generator) -> Samples:
    """Pink noise from 40 Hz to 16 kHz, the same in both ears, at -23 LUFS. Its end meets its beginning, for loops."""
    n = round(LEVEL_SECONDS * RATE)
    frequency = np.fft.rfftfreq(n, 1 / RATE)
    spectrum = np.fft.rfft(rng.standard_normal(n))
    spectrum *= ((frequency >= 40) & (frequency <= 16_000)) / np.sqrt(np.maximum(frequency, 1.0))
    pink = np.fft.irfft(spectrum, n)
    both = np.stack([pink, pink]) * (_gain(-30.0) / _rms(pink))
    return _samples(both * _gain(TARGET_LUFS - _loudness(_samples(both))))


def one_ear(ear: int) -> Signal:
    """A note of a few partials in one ear (0 left, 1 right); the other hears nothing at all."""
    t = _times()
    note = sum(np.sin(2 * np.pi * k * EAR_HZ * t) / k for k in range(1, 5))
    out = np.zeros((2, len(t)))
    out[ear] = _faded(note * (_gain(EAR_DBFS) / np.abs(note).max()), EAR_FADE_S)
    return out


def tone(*, quiet: bool, antiphase: bool) -> Signal:
    """200 Hz for one second. Antiphase, it is as loud as ever in headphones and cancels in the air of a room."""
    wave = np.sin(2 * np.pi * ANTIPHASE_HZ * _times()) * _gain(TONE_DBFS - (QUIETER_DB if quiet else 0.0))
    left = _faded(wave, TONE_FADE_S)
    return np.stack([left, -left if antiphase else left])


def huggins_noise(rng: np.random.Generator, *, hidden_tone: bool) -> Signal:
    """A second of white noise, the same in both ears, or turned by 180 degrees in one of them within a narrow band.

    Each ear alone hears plain noise either way; only a brain that gets both ears apart makes a pitch of the band.
    """
    n = round(INTERVAL_S * RATE)
    spectrum = np.fft.rfft(rng.standard_normal(n))
    turned = spectrum.copy()
    if hidden_tone:
        away = np.abs(np.fft.rfftfreq(n, 1 / RATE) - HUGGINS_HZ)
        turned[away <= HUGGINS_WIDTH * HUGGINS_HZ] *= -1
    both = np.stack([np.fft.irfft(spectrum, n), np.fft.irfft(turned, n)])
    return _faded(both * (_gain(NOISE_DBFS) / _rms(both[0])), NOISE_FADE_S)


def _laid_out(sounds: list[Signal]) -> Samples:
    """One interval after another, with rests between and around them."""
    gap, lead = (np.zeros((2, round(seconds * RATE))) for seconds in (GAP_S, LEAD_S))
    row = [lead]
    for sound in sounds:
        row += [sound, gap]
    return _samples(np.concatenate(row, axis=1))


def _times() -> Signal:
    return np.arange(round(INTERVAL_S * RATE)) / RATE


def _faded(signal: Signal, seconds: float) -> Signal:
    n = round(seconds * RATE)
    rise = 0.5 - 0.5 * np.cos(np.pi * np.arange(n) / n)
    out = signal.copy()
    out[..., :n] *= rise
    out[..., -n:] *= rise[::-1]
    return out


def _gain(decibels: float) -> float:
    return float(10 ** (decibels / 20))


def _rms(signal: Signal) -> float:
    return float(np.sqrt(np.mean(signal**2)))


def _loudness(samples: Samples) -> float:
    meter = LoudnessMeter(channels=2, rate=RATE)
    meter.push(samples)
    meter.finish()
    assert meter.loudness_lufs is not None, "noise at -30 dBFS has a loudness"
    return meter.loudness_lufs


def _samples(signal: Signal) -> Samples:
    out: Samples = signal.astype(np.float32)
    return out
