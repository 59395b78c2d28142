"""Mel spectrograms in 8-bit grey for the player.

Made in one pass over the canonical file, a window at a time, so memory does not grow with the clip.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import IO

import av
import numpy as np
from numpy.typing import NDArray

from annotation.audio.decode import CANONICAL_RATE

WIDTH, HEIGHT = 800, 128
N_BYTES = WIDTH * HEIGHT
LOWEST_HZ, HIGHEST_HZ = 30.0, 20_000.0
# 85 ms: tones a few hertz apart stand apart in the bass.
WINDOW = 4096
# What lies this far below the loudest is black. Only differences within a clip show, so its level does not.
RANGE_DB = 80.0

_Power = NDArray[np.float64]


def spectrogram(file: IO[bytes], *, n_samples: int) -> bytes:
    """WIDTH columns by HEIGHT bands of a canonical FLAC file: rows from the highest band down, 255 the loudest.

    Column c shows the samples from c/WIDTH to (c+1)/WIDTH of the clip: the mean power of as many windows, centred in
    it, as fill it. Silence is all zeros.
    """
    power = np.zeros((WIDTH, HEIGHT))
    counts = np.zeros(WIDTH)
    columns, centres = _windows(n_samples)
    pending = 0
    for start, mono in _stretches(file, n_samples):
        while pending < len(centres) and centres[pending] + WINDOW // 2 <= start + len(mono):
            begin = centres[pending] - WINDOW // 2 - start
            power[columns[pending]] += _bands(mono[begin : begin + WINDOW])
            counts[columns[pending]] += 1
            pending += 1
    return _grey(power / np.maximum(counts, 1)[:, None])


def _windows(n_samples: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The column of each window and the sample at its centre, in order."""
    each = max(1, round(n_samples / WIDTH / WINDOW))
    columns = np.repeat(np.arange(WIDTH), each)
    centres = ((np.arange(WIDTH * each) + 0.5) * n_samples / (WIDTH * each)).astype(np.intp)
    return columns, centres


def _stretches(file: IO[bytes], n_samples: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The mean over channels, with the place of its first sample: overlapping by a window, silence around the clip."""
    kept = np.zeros(WINDOW, np.float32)
    start = -WINDOW
    for mono in _mono(file):
        kept = np.concatenate([kept, mono])
        yield start, kept
        start += len(kept) - WINDOW
        kept = kept[-WINDOW:]
    yield start, np.concatenate([kept, np.zeros(n_samples - start, np.float32)])


def _mono(file: IO[bytes]) -> Iterator[NDArray[np.float32]]:
    file.seek(0)
    with av.open(file, mode="r", format="flac") as container:
        to_float = av.AudioResampler(format="fltp")
        for frame in container.decode(audio=0):
            for converted in to_float.resample(frame):
                yield converted.to_ndarray().mean(axis=0, dtype=np.float32)


def _bands(window: NDArray[np.float32]) -> _Power:
    spectrum = np.fft.rfft(window * _hann())
    out: _Power = _mel_bands() @ (spectrum.real**2 + spectrum.imag**2)
    return out


@cache
def _hann() -> NDArray[np.float64]:
    return np.hanning(WINDOW + 1)[:-1]


@cache
def _mel_bands() -> NDArray[np.float64]:
    """Triangles of equal height, shape (HEIGHT, bins), highest band first; none narrower than a bin of the spectrum."""
    hertz = np.arange(WINDOW // 2 + 1) * CANONICAL_RATE / WINDOW
    edges = _hertz(np.linspace(_mel(LOWEST_HZ), _mel(HIGHEST_HZ), HEIGHT + 2))
    bin_width = CANONICAL_RATE / WINDOW
    centre = edges[1:-1, None]
    rise = np.maximum(centre - edges[:-2, None], bin_width)
    fall = np.maximum(edges[2:, None] - centre, bin_width)
    away = hertz[None, :] - centre
    bands = np.clip(np.where(away < 0, 1 + away / rise, 1 - away / fall), 0.0, None)
    return np.ascontiguousarray(bands[::-1])


def _mel(hertz: float) -> float:
    """O'Shaughnessy's formula: equal steps sound about equally far apart."""
    return float(2595 * np.log10(1 + hertz / 700))


def _hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return 700 * (10 ** (mel / 2595) - 1)


def _grey(power: _Power) -> bytes:
    loudest = power.max()
    if loudest <= 0:
        return bytes(N_BYTES)
    floor = loudest * 10 ** (-RANGE_DB / 10)
    share = 1 + 10 * np.log10(np.maximum(power, floor) / loudest) / RANGE_DB
    return bytes(np.rint(255 * share).astype(np.uint8).T.tobytes())
