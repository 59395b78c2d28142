"""The waveform a player draws, made in one pass over sound of unknown length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

COLUMNS = 1000
# Many blocks to a column, so that a column's edge is off by less than 1/8,000 of the clip.
MAX_BLOCKS = 16_384


class PeakColumns:
    """Push the mean over channels in order, then take `to_bytes`.

    Keeps the extremes of at most MAX_BLOCKS equal blocks; when they are full, neighbours are merged and the
    block length doubles. So memory does not grow with the clip, and chunking does not change the result.
    """

    def __init__(self) -> None:
        self._low = np.full(MAX_BLOCKS, np.inf, np.float32)
        self._high = np.full(MAX_BLOCKS, -np.inf, np.float32)
        self._block_length = 1
        self._n_samples = 0

    def push(self, mono: NDArray[np.float32]) -> None:
        """Take in the next samples, shape (n,)."""
        if not len(mono):
            return
        start, end = self._n_samples, self._n_samples + len(mono)
        while end > MAX_BLOCKS * self._block_length:
            self._merge_neighbours()
        length = self._block_length
        first_edge = -start % length or length
        edges = np.concatenate(([0], np.arange(first_edge, len(mono), length)))
        blocks = slice(start // length, start // length + len(edges))
        self._low[blocks] = np.minimum(self._low[blocks], np.minimum.reduceat(mono, edges))
        self._high[blocks] = np.maximum(self._high[blocks], np.maximum.reduceat(mono, edges))
        self._n_samples = end

    def to_bytes(self) -> bytes:
        """(min, max) pairs of int8, min first, column after column; 127 is full scale.

        There are COLUMNS columns of equal duration, or one for each sample where the clip has fewer samples.
        """
        n_blocks = -(-self._n_samples // self._block_length)
        if n_blocks == 0:
            return b""
        n_columns = min(COLUMNS, n_blocks)
        edges = np.arange(n_columns) * n_blocks // n_columns
        low = np.minimum.reduceat(self._low[:n_blocks], edges)
        high = np.maximum.reduceat(self._high[:n_blocks], edges)
        pairs = np.stack([low, high], axis=1)
        columns: NDArray[np.int8] = np.rint(127 * pairs).clip(-127, 127).astype(np.int8)
        return columns.tobytes()

    def _merge_neighbours(self) -> None:
        half = MAX_BLOCKS // 2
        self._low[:half] = np.minimum(self._low[0::2], self._low[1::2])
        self._high[:half] = np.maximum(self._high[0::2], self._high[1::2])
        self._low[half:] = np.inf
        self._high[half:] = -np.inf
        self._block_length *= 2
