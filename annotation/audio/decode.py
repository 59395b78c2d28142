"""Any file ffmpeg knows to 48 kHz float samples, one chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

import numpy as np
from av import AudioFrame
from av.container import InputContainer
from av.error import FFmpegError

from annotation.audio.errors import AudioError
from annotation.audio.filters import FilterChain, Samples
from annotation.audio.header import decoder_seconds, stated_seconds
from annotation.audio.opening import CONVERT, not_audio

CANONICAL_RATE = 48_000
# Ten FLAC blocks of ffmpeg's size at 48 kHz, so that the encoder can cut chunks without a remainder.
CHUNK_SAMPLES = 46_080

# Flat within 0.01 dB to 21 kHz and images below -120 dB when 44.1 kHz becomes 48 kHz; ffmpeg's defaults lose
# 0.5 dB at 20 kHz and let images through at -25 dB. rematrix_maxval keeps a downmix from clipping.
RESAMPLER = f"{CANONICAL_RATE}:filter_size=128:cutoff=0.98:kaiser_beta=12:rematrix_maxval=1.0"

# A 4,096-sample packet at 1 Hz would grow to 200 million samples in one step.
MIN_SOURCE_RATE = 4_000

# Lossless formats count samples exactly. Lossy ones count the encoder's priming too: up to 2,112 samples at
# 22.05 kHz in front and a block behind.
LOSSLESS_SLACK_S = 0.01
LOSSY_SLACK_S = 0.25

REPLACE = "Copy or export the file again, and check that it plays to its end."


class Source:
    """The first audio stream of an opened file.

    `bits` is the canonical depth: 24 for lossless sources above 16 bits, else 16. Lossy sources get 16 too:
    what their decoders add below is their own rounding. `stated_s` is the length, if any, that the header
    can be held to; `estimated_s` may be ffmpeg's guess.
    """

    def __init__(self, file: BufferedReader, container: InputContainer) -> None:
        stream = container.streams.audio[0]
        context = stream.codec_context
        if context is None or not context.sample_rate or context.format is None or context.layout is None:
            raise not_audio()
        if context.sample_rate < MIN_SOURCE_RATE:
            raise AudioError(
                "undecodable", f"This file claims {context.sample_rate} samples per second.", CONVERT
            )
        # Without it ffmpeg plays FLAC frames whose checksum is wrong.
        context.options = {"err_detect": "crccheck+explode"}
        self.codec = context.codec.canonical_name
        self.sample_rate = context.sample_rate
        self.channels = min(context.channels, 2)
        self.bits = 24 if context.codec.lossless and context.format.bytes > 2 else 16
        self.stated_s = stated_seconds(file, container=container, stream=stream)
        self.estimated_s = decoder_seconds(container, stream)
        self._slack_s = LOSSLESS_SLACK_S if context.codec.lossless else LOSSY_SLACK_S
        self._container = container
        self._stream = stream

    def chunks(self) -> Iterator[Samples]:
        """48 kHz samples, shape (channels, CHUNK_SAMPLES), the last chunk shorter. Raises `undecodable`."""
        chain: FilterChain | None = None
        sort: tuple[int, str, str] | None = None
        for frame, at in self._frames():
            if chain is None:
                sort = _sort_of(frame)
                chain = self._chain(sort)
            elif _sort_of(frame) != sort:
                raise AudioError(
                    "undecodable", f"The sample rate or channels change at {at:.2f} s in this file.", CONVERT
                )
            yield from _checked(chain.push(frame), at)
        if chain is not None:
            yield from _checked(chain.finish(), at)

    def _frames(self) -> Iterator[tuple[AudioFrame, float]]:
        """Decoded frames, each with the seconds of sound before it."""
        n_samples = 0
        decoded_s = 0.0
        first_gap_s: float | None = None
        try:
            for packet in self._container.demux(self._stream):
                for frame in packet.decode():
                    if first_gap_s is None and self._is_late(frame, decoded_s):
                        first_gap_s = decoded_s
                    yield frame, decoded_s
                    n_samples += frame.samples
                    decoded_s = n_samples / self.sample_rate
        except FFmpegError as error:
            raise _broken(decoded_s) from error
        if self.stated_s is not None and decoded_s < self.stated_s - self._slack_s:
            raise _incomplete(decoded_s, self.stated_s, first_gap_s)

    def _is_late(self, frame: AudioFrame, decoded_s: float) -> bool:
        """Whether the frame's time stamp shows that sound before it was lost."""
        start = self._stream.start_time
        if frame.time is None or start is None or self._stream.time_base is None:
            return False
        return frame.time - float(start * self._stream.time_base) > decoded_s + self._slack_s

    def _chain(self, sort: tuple[int, str, str]) -> FilterChain:
        layout = "mono" if self.channels == 1 else "stereo"
        steps = [
            ("aresample", RESAMPLER),
            ("aformat", f"sample_fmts=fltp:channel_layouts={layout}"),
            ("asetnsamples", f"n={CHUNK_SAMPLES}:p=0"),
        ]
        rate, sample_format, source_layout = sort
        try:
            return FilterChain(steps, rate=rate, sample_format=sample_format, layout=source_layout)
        except FFmpegError as error:
            raise AudioError(
                "undecodable",
                f"This file's channel layout ({source_layout}) has no known way down to stereo.",
                "Mix it down to stereo and export it again.",
            ) from error


def _sort_of(frame: AudioFrame) -> tuple[int, str, str]:
    return frame.sample_rate, frame.format.name, frame.layout.name


def _checked(frames: Iterator[AudioFrame], at: float) -> Iterator[Samples]:
    for frame in frames:
        samples: Samples = np.asarray(frame.to_ndarray(), np.float32)
        # Diverged models write these; past the rounding to integers they would be unexplained clicks.
        if not np.isfinite(samples).all():
            raise AudioError(
                "undecodable",
                f"This file holds samples that are not numbers (NaN or infinite) near {at:.2f} s.",
                "Generate the output again, or leave it out.",
            )
        yield samples


def _broken(decoded_s: float) -> AudioError:
    if not decoded_s:
        return not_audio()
    return AudioError("undecodable", f"This file is damaged: decoding broke at {decoded_s:.2f} s.", REPLACE)


def _incomplete(decoded_s: float, stated_s: float, first_gap_s: float | None) -> AudioError:
    if first_gap_s is not None:
        return _broken(first_gap_s)
    return AudioError(
        "undecodable",
        f"This file is cut off: it ends at {decoded_s:.2f} s, but its header promises {stated_s:.2f} s.",
        REPLACE,
    )
