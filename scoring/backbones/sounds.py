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


# MP3 and AAC pad what they encode: a clip cut to 30 s comes back a little longer. So much is cut off again, as each
# model's own processor cuts what is too long; more would leave something unheard, and that must be said.
OVERHANG_SECONDS = 0.5


def decode(sound: Sound, *, rate: int, seconds: float) -> NDArray[np.float32]:
    """The whole sound at `rate` samples a second, the mean of its channels: float32, shape (samples,), full scale at
    -1 and 1. The same file gives the same samples.

    Any file ffmpeg knows is read; more than two channels are mixed down to stereo first. `seconds` is the most that the
    model hears: of a longer sound no more than that is ever decoded. Raises ExampleError `missing`, `undecodable`,
    `too_long_sound`.
    """
    return _whole(sound, _up_to(seconds, _at_rate(_mono(sound), rate), rate))[: int(seconds * rate)]


def decode_start(sound: Sound, *, rate: int, seconds: float) -> NDArray[np.float32]:
    """As `decode`, but of a longer sound its first `seconds`: what comes after is not decoded, and not missed."""
    return _whole(sound, _start(seconds, _at_rate(_mono(sound), rate), rate))[: int(seconds * rate)]


def _whole(sound: Sound, pieces_of: Iterator[NDArray[np.float32]]) -> NDArray[np.float32]:
    try:
        pieces = list(pieces_of)
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


def _start(seconds: float, pieces: Iterator[NDArray[np.float32]], rate: int) -> Iterator[NDArray[np.float32]]:
    n_samples = 0
    for piece in pieces:
        n_samples += piece.size
        yield piece
        if n_samples >= seconds * rate:
            return


def _up_to(seconds: float, pieces: Iterator[NDArray[np.float32]], rate: int) -> Iterator[NDArray[np.float32]]:
    n_samples = 0
    for piece in pieces:
        n_samples += piece.size
        if n_samples > (seconds + OVERHANG_SECONDS) * rate:
            raise ExampleError(
                "too_long_sound",
                f"The sound lasts more than {seconds:g} s, the most that this model hears. Cut it, or use a model that "
                "hears more.",
            )
        yield piece


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
