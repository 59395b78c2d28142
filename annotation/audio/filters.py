"""A row of ffmpeg audio filters with one end to push frames into and one to take them from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import cast

import numpy as np
from av import AudioFrame
from av.filter import Graph
from numpy.typing import NDArray

Samples = NDArray[np.float32]
"""Sound as float32, shape (channels, samples), full scale at -1 and 1."""


class FilterChain:
    """`steps` are (filter name, its arguments) in ffmpeg's own syntax, in the order of the signal."""

    def __init__(
        self, steps: Sequence[tuple[str, str]], *, rate: int, sample_format: str, layout: str
    ) -> None:
        self._graph = Graph()
        source = self._graph.add_abuffer(
            sample_rate=rate, format=sample_format, layout=layout, time_base=Fraction(1, rate)
        )
        filters = [self._graph.add(name, arguments) for name, arguments in steps]
        self._graph.link_nodes(source, *filters, self._graph.add("abuffersink")).configure()

    def push(self, frame: AudioFrame) -> Iterator[AudioFrame]:
        """Feed one frame and yield what the chain has ready."""
        self._graph.push(frame)
        return self._drain()

    def finish(self) -> Iterator[AudioFrame]:
        """Tell the chain that the sound has ended and yield what it still held back."""
        self._graph.push(None)
        return self._drain()

    def _drain(self) -> Iterator[AudioFrame]:
        while True:
            try:
                yield cast(AudioFrame, self._graph.pull())
            except (BlockingIOError, EOFError):
                return


def frame_of(samples: Samples, *, rate: int) -> AudioFrame:
    """One or two channels of samples as an ffmpeg frame."""
    layout = "mono" if len(samples) == 1 else "stereo"
    frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples), format="fltp", layout=layout)
    frame.sample_rate = rate
    return frame
