"""The low-pass anchors of a MUSHRA test, made from the reference: the same sound without its treble, to the sample.

A linear-phase FIR filter whose delay is taken out again, so that a listener who switches between the reference and an
anchor hears the spectrum change and nothing move. Kaiser's window design (Kaiser 1974): flat within 0.01 dB up to the
cut-off, and at least 60 dB down from 500 Hz above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from annotation.audio.decode import CANONICAL_RATE, CHUNK_SAMPLES, Samples, Source, open_audio, open_file
from annotation.audio.flac import FlacWriter, quantise

# Recommendation ITU-R BS.1534: the low anchor and the mid anchor.
CUTOFFS_HZ = {"anchor_3500": 3500, "anchor_7000": 7000}
TRANSITION_HZ = 500
STOPBAND_DB = 60
# What the design aims at, so that what is measured keeps the promise above.
_DESIGN_DB = 66.0


def write_anchor(source: Path, target: Path, *, role: str) -> None:
    """Write the anchor of the first audio stream of `source` to `target`, a 48 kHz FLAC file of the same length.

    The same sound gives the same bytes. Raises `AudioError` where the source is at fault.
    """
    taps = lowpass_taps(CUTOFFS_HZ[role])
    with open_file(source) as file, open_audio(file) as container:
        reference = Source(file, container)
        bits = reference.bits
        with FlacWriter(target, channels=reference.channels, bits=bits, rate=CANONICAL_RATE) as writer:
            for chunk in _recut(filtered(reference.chunks(), taps)):
                writer.push(quantise(chunk, bits=bits))


def lowpass_taps(cutoff_hz: float, *, rate: int = CANONICAL_RATE) -> NDArray[np.float64]:
    """A symmetric impulse response of odd length and gain 1; its delay is (length − 1) / 2 samples."""
    width = TRANSITION_HZ / rate
    length = int(np.ceil((_DESIGN_DB - 7.95) / (14.36 * width))) | 1
    beta = 0.1102 * (_DESIGN_DB - 8.7)
    place = np.arange(length) - (length - 1) / 2
    middle = 2 * (cutoff_hz + TRANSITION_HZ / 2) / rate
    taps: NDArray[np.float64] = middle * np.sinc(middle * place) * np.kaiser(length, beta)
    taps /= taps.sum()
    return taps


def filtered(chunks: Iterable[Samples], taps: NDArray[np.float64]) -> Iterator[Samples]:
    """The sound after the filter, as many samples as before it and none of them late. Chunks may have any length."""
    delay = (len(taps) - 1) // 2
    rest: NDArray[np.float64] | None = None
    early = delay
    for chunk in chunks:
        if rest is None:
            rest = np.zeros((len(chunk), len(taps) - 1))
        out, rest = _step(rest, chunk, taps)
        yield out[:, early:]
        early = max(0, early - out.shape[1])
    if rest is not None:
        tail = np.zeros((len(rest), delay), np.float32)
        yield _step(rest, tail, taps)[0][:, early:]


def _step(
    rest: NDArray[np.float64], chunk: Samples, taps: NDArray[np.float64]
) -> tuple[Samples, NDArray[np.float64]]:
    """Filter a chunk that follows on `rest`, the samples the filter still remembers; and what it remembers next."""
    whole = np.concatenate([rest, chunk], axis=1)
    size = 1 << (whole.shape[1] + len(taps) - 2).bit_length()
    spectrum = np.fft.rfft(whole, size) * np.fft.rfft(taps, size)
    out = np.fft.irfft(spectrum, size)[:, len(taps) - 1 : whole.shape[1]]
    return out.astype(np.float32), whole[:, whole.shape[1] - (len(taps) - 1) :]


def _recut(chunks: Iterable[Samples]) -> Iterator[Samples]:
    """The same sound in pieces that end with a FLAC block, but for the last."""
    held: Samples | None = None
    for chunk in chunks:
        held = chunk if held is None else np.concatenate([held, chunk], axis=1)
        while held.shape[1] >= CHUNK_SAMPLES:
            yield held[:, :CHUNK_SAMPLES]
            held = held[:, CHUNK_SAMPLES:]
    if held is not None and held.shape[1]:
        yield held
