"""A sound file as the samples a model hears."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from annotation.audio.decode import CANONICAL_RATE, CHUNK_SAMPLES, Source
from annotation.audio.errors import AudioError
from annotation.audio.filters import FilterChain, Samples, frame_of
from annotation.audio.opening import open_audio, open_file
from scoring.metrics.contract import ExampleError, Sound

# Flat within 0.01 dB to 0.93 of the new Nyquist frequency, and what lies above it is 90 dB down: a model must not be
# told of sounds that are not there.
_RESAMPLER = "filter_size=256:cutoff=0.97:kaiser_beta=12"


def decode(sound: Sound, *, rate: int) -> NDArray[np.float32]:
    """The whole sound at `rate` samples a second, the mean of its channels: float32, shape (samples,), full scale at
    -1 and 1. The same file gives the same samples.

    Any file ffmpeg knows is read; more than two channels are mixed down to stereo first. Raises ExampleError
    `missing`, `undecodable`.
    """
    try:
        pieces = list(_at_rate(_mono(sound), rate))
    except AudioError as error:
        code = "missing" if error.code == "missing" else "undecodable"
        raise ExampleError(code, str(error)) from error
    except OSError as error:
        raise ExampleError(
            "missing", f"{sound.path} could not be read: {error.strerror or error}."
        ) from error
    if not any(piece.size for piece in pieces):
        raise ExampleError("undecodable", f"{sound.path} holds no samples. Export it again.")
    return np.concatenate(pieces)


def _mono(sound: Sound) -> Iterator[Samples]:
    """Pieces of shape (1, samples) at 48 kHz."""
    with open_file(sound.path) as file, open_audio(file) as container:
        for chunk in Source(file, container).chunks():
            yield chunk.mean(axis=0, keepdims=True)


def _at_rate(pieces: Iterator[Samples], rate: int) -> Iterator[NDArray[np.float32]]:
    if rate == CANONICAL_RATE:
        for piece in pieces:
            yield piece[0]
        return
    # Chunks of one size: the samples must not depend on how the decoder happened to cut its frames.
    steps = [("aresample", f"{rate}:{_RESAMPLER}"), ("asetnsamples", f"n={CHUNK_SAMPLES}:p=0")]
    chain = FilterChain(steps, rate=CANONICAL_RATE, sample_format="fltp", layout="mono")
    for piece in pieces:
        for frame in chain.push(frame_of(piece, rate=CANONICAL_RATE)):
            yield frame.to_ndarray()[0]
    for frame in chain.finish():
        yield frame.to_ndarray()[0]
