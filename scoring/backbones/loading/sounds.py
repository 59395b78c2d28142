"""Decoding of a sound file to the samples a model hears, prefetched in threads."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotation.audio.decode import (
    CANONICAL_RATE,
    CHUNK_SAMPLES,
    FilterChain,
    Samples,
    Source,
    frame_of,
    open_audio,
    open_file,
)
from annotation.audio.errors import AudioError
from scoring.metrics.contract import ExampleError, Sound

S = TypeVar("S", bound=np.floating)

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
    n_too_long = math.floor((seconds + OVERHANG_SECONDS) * rate) + 1
    samples = _decoded(sound, rate, n_enough=n_too_long)
    if len(samples) >= n_too_long:
        raise ExampleError(
            "too_long_sound",
            f"The sound lasts more than {seconds:g} s, the most that this model hears. Cut it, or use a model that "
            "hears more.",
        )
    return samples[: int(seconds * rate)]


def decode_start(sound: Sound, *, rate: int, seconds: float) -> NDArray[np.float32]:
    """As `decode`, but of a longer sound its first `seconds`: what comes after is not decoded, and not missed."""
    return _decoded(sound, rate, n_enough=math.ceil(seconds * rate))[: int(seconds * rate)]


def _decoded(sound: Sound, rate: int, *, n_enough: int) -> NDArray[np.float32]:
    """The sound, decoded until there are so many samples."""
    pieces: list[NDArray[np.float32]] = []
    n_samples = 0
    try:
        for piece in _at_rate(_mono(sound), rate):
            pieces.append(piece)
            n_samples += piece.size
            if n_samples >= n_enough:
                break
    except AudioError as error:
        code = "missing" if error.code == "missing" else "undecodable"
        raise ExampleError(code, str(error)) from error
    except OSError as error:
        raise ExampleError(
            "missing", f"{sound.path} could not be read: {error.strerror or error}."
        ) from error
    if not n_samples:
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


def spread_windows(samples: NDArray[S], size: int) -> list[NDArray[S]]:
    """As many windows of `size` samples as cover the sound, spread evenly; one of what is shorter."""
    if len(samples) <= size:
        return [samples]
    starts = np.linspace(0, len(samples) - size, -(-len(samples) // size)).round().astype(int)
    return [samples[start : start + size] for start in starts]


# ── prefetch: sounds are decoded and transformed in threads, ahead of the model ──

# Two batches of clips: more would only fill the memory of a machine whose model is slower than its decoder.
_PREFETCHED = 128


T = TypeVar("T")


class SoundPrefetcher(Generic[T]):
    """Runs `work` for each sound once, ahead of time where told to; exceptions wait for whoever takes the result."""

    def __init__(self, work: Callable[[Sound], T]) -> None:
        self._work = work
        self._pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1), thread_name_prefix="sounds")
        self._begun: OrderedDict[str, Future[T]] = OrderedDict()
        self._lock = Lock()

    def begin(self, sounds: Sequence[Sound]) -> None:
        with self._lock:
            for sound in sounds:
                if sound.sha256 not in self._begun:
                    self._begun[sound.sha256] = self._pool.submit(self._work, sound)
            while len(self._begun) > _PREFETCHED:
                # Nobody came for it: its run was cancelled, or it asks for more than can be kept.
                self._begun.popitem(last=False)[1].cancel()

    def take(self, sounds: Sequence[Sound]) -> dict[str, Future[T]]:
        """Results by content, each begun by now; they are forgotten here."""
        with self._lock:
            return {
                key: self._begun.pop(key) if key in self._begun else self._pool.submit(self._work, sound)
                for key, sound in {one.sha256: one for one in sounds}.items()
            }
