"""A part of a canonical clip decodes on its own, and to exactly its own samples."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest

from annotation.audio.flac import FlacWriter
from annotation.audio.parts import (
    PART_HEADER_BYTES,
    PART_SAMPLES,
    PaddedParts,
    n_samples_of,
    padded_sizes,
    part_header,
    part_offsets,
)

LENGTHS = [1, 4608, PART_SAMPLES - 1, PART_SAMPLES, PART_SAMPLES + 1, 3 * PART_SAMPLES + 777]


@pytest.fixture
def written(tmp_path: Path):
    """A FLAC file of noise and its samples."""

    def write(n_samples: int, *, bits: int = 16, channels: int = 2) -> tuple[Path, np.ndarray]:
        full_scale = 1 << (bits - 1)
        rng = np.random.default_rng(n_samples)
        pcm = rng.integers(-full_scale, full_scale, size=(channels, n_samples)).astype(np.int32)
        path = tmp_path / f"{n_samples}-{bits}-{channels}.flac"
        with FlacWriter(path, channels=channels, bits=bits, rate=48_000) as writer:
            writer.push(pcm)
        return path, pcm

    return write


def decoded(flac: bytes, *, bits: int, channels: int) -> np.ndarray:
    with av.open(io.BytesIO(flac)) as container:
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    joined = np.concatenate(frames, axis=1).reshape(-1, channels).T
    return joined.astype(np.int64) >> (0 if bits == 16 else 32 - bits)


def offsets_of(path: Path) -> list[int]:
    with path.open("rb") as file:
        return part_offsets(file)


@pytest.mark.parametrize("n_samples", LENGTHS)
def test_every_part_decodes_to_its_own_samples(written, n_samples):
    path, pcm = written(n_samples)
    offsets = offsets_of(path)
    parts = PaddedParts(path.open("rb"), offsets=offsets, n_samples=n_samples, sizes=padded_sizes([offsets]))
    data = b"".join(parts.read(0, parts.size))
    for number, (start, end) in enumerate(zip([0, *parts.ends], parts.ends, strict=False)):
        expected = pcm[:, number * PART_SAMPLES : (number + 1) * PART_SAMPLES]
        assert n_samples_of(number, total=n_samples) == expected.shape[1]
        assert np.array_equal(decoded(data[start:end], bits=16, channels=2), expected)


@pytest.mark.parametrize(("bits", "channels"), [(24, 2), (24, 1), (16, 1)])
def test_depth_and_channels_come_through(written, bits, channels):
    path, pcm = written(PART_SAMPLES + 5, bits=bits, channels=channels)
    offsets = offsets_of(path)
    sizes = padded_sizes([offsets])
    parts = PaddedParts(path.open("rb"), offsets=offsets, n_samples=PART_SAMPLES + 5, sizes=sizes)
    last = b"".join(parts.read(sizes[0], parts.size))
    assert np.array_equal(decoded(last, bits=bits, channels=channels), pcm[:, PART_SAMPLES:])


def test_any_range_is_a_slice_of_the_whole(written):
    n_samples = 2 * PART_SAMPLES + 9
    path, _ = written(n_samples)
    offsets = offsets_of(path)
    sizes = padded_sizes([offsets])

    def read(start: int, stop: int) -> bytes:
        parts = PaddedParts(path.open("rb"), offsets=offsets, n_samples=n_samples, sizes=sizes)
        return b"".join(parts.read(start, min(stop, parts.size)))

    whole, first = read(0, 1 << 40), sizes[0]
    edges = [(0, 1), (first - 1, first), (first, first + 1), (first - 3, first + 3), (5, len(whole))]
    for start, stop in edges:
        assert read(start, stop) == whole[start:stop]


def test_clips_of_one_task_have_parts_of_one_size():
    sizes = padded_sizes([[100, 5_000, 9_000], [100, 20_000], [100, 200, 300, 400]])
    assert sizes == [20_480, 4_096, 4_096]
    assert all(size >= PART_HEADER_BYTES for size in sizes)


def test_no_clip_has_no_sizes_and_what_is_not_flac_or_does_not_fit_is_refused():
    assert padded_sizes([]) == padded_sizes([[]]) == []
    with pytest.raises(ValueError, match="cannot be padded"):
        part_header(bytes(34), n_samples=1, n_frame_bytes=100, size=100)
    parts = PaddedParts(io.BytesIO(b"RIFF" + bytes(100)), offsets=[0, 50], n_samples=1, sizes=[4096])
    with pytest.raises(ValueError, match="not a FLAC file"):
        list(parts.read(0, 10))
