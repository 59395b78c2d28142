"""Sound files made for the tests, and a look inside the FLAC files that come out."""

from __future__ import annotations

import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RATE = 48_000


def sine(
    frequency: float = 1000,
    *,
    dbfs: float = -23.0,
    seconds: float = 1.0,
    rate: int = RATE,
    channels: int = 2,
    degrees: float = 0.0,
) -> Floats:
    """A tone with its peak at `dbfs`, shape (channels, n), the same in every channel."""
    t = np.arange(round(seconds * rate)) / rate
    tone = 10 ** (dbfs / 20) * np.sin(2 * np.pi * frequency * t + np.deg2rad(degrees))
    return np.tile(tone, (channels, 1))


def noise(seconds: float = 1.0, *, bits: int = 16, channels: int = 2, seed: int = 1) -> NDArray[np.int32]:
    """Full-range random integers, shape (channels, n): any lost, shifted or rounded sample shows."""
    limit = 1 << (bits - 1)
    shape = (channels, round(seconds * RATE))
    return np.random.default_rng(seed).integers(-limit, limit, shape, dtype=np.int32)


def write_wav(path: Path, samples: Floats | NDArray[np.int32], *, rate: int = RATE) -> Path:
    """A plain 16-bit WAV file; floats are scaled to full range, integers are taken as they are."""
    pcm = np.rint(samples * 32767) if samples.dtype.kind == "f" else samples
    with wave.open(str(path), "wb") as file:
        file.setnchannels(len(pcm))
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm.T.astype("<i2").tobytes())
    return path


def encode(
    path: Path,
    samples: Floats | NDArray[np.int32],
    codec: str,
    *,
    sample_format: str,
    rate: int = RATE,
    layout: str = "stereo",
    tags: dict[str, str] | None = None,
    bit_rate: int = 128_000,
    first_time_s: int = 0,
) -> Path:
    """Any file that ffmpeg can write. Integer samples are taken as 24-bit if the format has 32 bits."""
    dtype = {"s16": np.int16, "s16p": np.int16, "s32": np.int32, "flt": np.float32, "fltp": np.float32}
    pcm = samples << 8 if sample_format == "s32" else samples
    pcm = pcm if sample_format.endswith("p") else pcm.T.reshape(1, -1)
    with av.open(str(path), "w") as container:
        container.metadata.update(tags or {})
        stream = container.add_stream(codec, rate=rate, layout=layout, format=sample_format)
        stream.codec_context.bit_rate = bit_rate
        stream.codec_context.open()
        planes = len(samples) if pcm.shape[0] == 1 else 1
        step = (stream.codec_context.frame_size or 4096) * planes
        for start in range(0, pcm.shape[1], step):
            block = np.ascontiguousarray(pcm[:, start : start + step], dtype=dtype[sample_format])
            frame = av.AudioFrame.from_ndarray(block, format=sample_format, layout=layout)
            frame.sample_rate = rate
            frame.time_base = Fraction(1, rate)
            frame.pts = first_time_s * rate + start // planes
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def add_picture_track(path: Path, sound: Path, *, seconds: int) -> Path:
    """A film: this sound with a black picture of its own length."""
    with av.open(str(sound)) as source, av.open(str(path), "w") as film:
        heard = film.add_stream_from_template(source.streams.audio[0])
        seen = film.add_stream("mpeg4", rate=1, width=64, height=64, pix_fmt="yuv420p")
        for packet in source.demux(source.streams.audio[0]):
            if packet.dts is not None:
                packet.stream = heard
                film.mux(packet)
        for _ in range(seconds):
            film.mux(seen.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")))
        film.mux(seen.encode(None))
    return path


def read_flac(path: Path) -> NDArray[np.int32]:
    """The integers in a FLAC file, shape (channels, n)."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        frames = [frame.to_ndarray() for frame in container.decode(stream)]
        interleaved = np.concatenate(frames, axis=1)
        shift = 0 if stream.format.name == "s16" else 8
        return interleaved.reshape(-1, stream.channels).T.astype(np.int32) >> shift


def flac_depth(path: Path) -> int:
    """Bits per sample as the STREAMINFO block states them."""
    return ((int.from_bytes(path.read_bytes()[18:26], "big") >> 36) & 0x1F) + 1


def flac_blocks(path: Path) -> list[tuple[int, bytes]]:
    """The metadata blocks of a FLAC file: (type, body)."""
    data = path.read_bytes()
    assert data[:4] == b"fLaC"
    blocks, at, last = [], 4, False
    while not last:
        last, kind = bool(data[at] & 0x80), data[at] & 0x7F
        length = int.from_bytes(data[at + 1 : at + 4], "big")
        blocks.append((kind, data[at + 4 : at + 4 + length]))
        at += 4 + length
    return blocks
