"""One sound file to one canonical clip and the facts about it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from uuid import uuid4

from annotation.audio.decode import CANONICAL_RATE, Source
from annotation.audio.flac import FlacWriter, dequantise, quantise
from annotation.audio.limits import DEFAULT_LIMITS, Limits, in_words
from annotation.audio.loudness import LoudnessMeter
from annotation.audio.opening import open_audio, open_file
from annotation.audio.parts import part_offsets
from annotation.audio.peaks import PeakColumns

# -80 dBFS: two K-weighted channels of it stay below the absolute gate, so a silent clip has no loudness.
SILENCE_PEAK = 10 ** (-80 / 20)


@dataclass(frozen=True)
class AudioFacts:
    """What a clip sounds like, measured on the canonical 48 kHz samples: on what raters will hear.

    `duration_s` is exactly `n_samples` / 48,000. `loudness_lufs` is BS.1770 integrated loudness (mono as in
    both ears), None for a silent clip, one shorter than 400 ms, or one wholly below the absolute gate.
    `true_peak_dbtp` is None for digital silence. `peaks` is laid out as in `PeakColumns.to_bytes`. `silent`
    means that no sample reaches -80 dBFS; such a clip is valid, a system may well have produced silence.
    """

    duration_s: float
    n_samples: int
    channels: int
    source_codec: str
    source_sample_rate: int
    loudness_lufs: float | None
    true_peak_dbtp: float | None
    silent: bool
    peaks: bytes


@dataclass(frozen=True)
class ClipFacts(AudioFacts):
    """The facts, the identity of the canonical FLAC file that was written, and where its parts are."""

    canonical_sha256: str
    n_bytes: int
    part_offsets: list[int]


def inspect(source: Path, *, limits: Limits = DEFAULT_LIMITS) -> AudioFacts:
    """Decode and measure without writing anything. Raises `AudioError` as `measure_and_canonicalise` does."""
    return _process(source, None, limits)


def measure_and_canonicalise(source: Path, target: Path, *, limits: Limits = DEFAULT_LIMITS) -> ClipFacts:
    """Write the first audio stream of `source` to `target` as 48 kHz FLAC, mono or stereo, and measure it.

    The same samples give the same bytes, whatever the source's tags, container, name or time. `target`
    appears complete or not at all; its folder must exist. Memory does not grow with the length of the file.
    Raises `AudioError` where the source is at fault, `OSError` where the disk is.
    """
    with _appearing_whole(target) as part:
        facts = _process(source, part, limits)
    with target.open("rb") as written:
        offsets = part_offsets(written)
    return ClipFacts(
        **{field.name: getattr(facts, field.name) for field in fields(facts)},
        canonical_sha256=content_sha256(target),
        n_bytes=target.stat().st_size,
        part_offsets=offsets,
    )


def content_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's bytes, read in pieces. Raises `missing`, `empty`."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _process(path: Path, target: Path | None, limits: Limits) -> AudioFacts:
    with open_file(path) as file, open_audio(file) as container:
        source = Source(file, container)
        _refuse_stated_length(source, limits)
        with _writer(target, source) as writer:
            return _measure(source, writer, limits)


def _writer(target: Path | None, source: Source) -> AbstractContextManager[FlacWriter | None]:
    if target is None:
        return nullcontext()
    return FlacWriter(target, channels=source.channels, bits=source.bits, rate=CANONICAL_RATE)


def _measure(source: Source, writer: FlacWriter | None, limits: Limits) -> AudioFacts:
    meter = LoudnessMeter(channels=source.channels, rate=CANONICAL_RATE)
    columns = PeakColumns()
    n_samples, sample_peak = 0, 0.0
    for chunk in source.chunks():
        n_samples += chunk.shape[1]
        _refuse_decoded_length(n_samples / CANONICAL_RATE, source, limits)
        pcm = quantise(chunk, bits=source.bits)
        heard = dequantise(pcm, bits=source.bits)
        meter.push(heard)
        columns.push(heard.mean(axis=0))
        sample_peak = max(sample_peak, float(heard.max()), -float(heard.min()))
        if writer is not None:
            writer.push(pcm)
    limits.refuse_shorter(n_samples / CANONICAL_RATE)
    meter.finish()
    return AudioFacts(
        duration_s=n_samples / CANONICAL_RATE,
        n_samples=n_samples,
        channels=source.channels,
        source_codec=source.codec,
        source_sample_rate=source.sample_rate,
        loudness_lufs=meter.loudness_lufs,
        true_peak_dbtp=meter.true_peak_dbtp,
        silent=sample_peak < SILENCE_PEAK,
        peaks=columns.to_bytes(),
    )


def _refuse_stated_length(source: Source, limits: Limits) -> None:
    """A header worth believing saves decoding hours of sound."""
    if source.stated_s is not None:
        limits.refuse_longer(source.stated_s, length=in_words(source.stated_s))


def _refuse_decoded_length(decoded_s: float, source: Source, limits: Limits) -> None:
    estimate = source.estimated_s or 0.0
    believed = estimate > limits.max_seconds
    limits.refuse_longer(
        decoded_s,
        length=f"about {in_words(estimate)}" if believed else f"more than {in_words(limits.max_seconds)}",
    )


@contextmanager
def _appearing_whole(target: Path) -> Iterator[Path]:
    """A file beside `target` to write to; it becomes `target` when all went well and vanishes when not."""
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        yield part
        # On the disk before it has its name: after a power cut the name must not point at an empty file.
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
