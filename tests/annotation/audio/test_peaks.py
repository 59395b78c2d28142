"""The drawn waveform: its layout, and that it shows what is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.audio.ingest import PeakColumns, inspect
from tests.annotation.audio.recordings import RATE, noise, sine, write_wav


def columns_of(mono: NDArray[np.float32], *, chunk: int = 46_080) -> NDArray[np.int8]:
    """Shape (columns, 2): minimum, maximum."""
    columns = PeakColumns()
    for start in range(0, len(mono), chunk):
        columns.push(mono[start : start + chunk])
    return np.frombuffer(columns.to_bytes(), np.int8).reshape(-1, 2)


def test_each_column_is_a_minimum_and_a_maximum_with_127_at_full_scale() -> None:
    mono = np.repeat(np.float32([0, 0.5, -1, 1]), 500)
    mono[1::2] = 0
    columns = columns_of(mono)
    assert columns.shape == (1000, 2)
    np.testing.assert_array_equal(columns[[0, 250, 500, 750]], [[0, 0], [0, 64], [-127, 0], [0, 127]])


def test_fewer_samples_than_columns_get_one_column_each() -> None:
    assert PeakColumns().to_bytes() == b""
    np.testing.assert_array_equal(columns_of(np.float32([-1, 0.25])), [[-127, -127], [32, 32]])


@pytest.mark.parametrize("n_samples", [16_384, 16_385, 480_000, 3_000_001])
def test_an_event_is_drawn_at_its_place_in_time(n_samples: int) -> None:
    mono = np.zeros(n_samples, np.float32)
    mono[n_samples // 4] = 1
    mono[-1] = -1
    columns = columns_of(mono)
    assert len(columns) == 1000
    assert abs(int(columns[:, 1].argmax()) - 250) <= 1
    assert columns[:, 0].argmin() == 999
    assert np.count_nonzero(columns) == 2


@pytest.mark.parametrize("chunk", [1000, 46_080, 65_537])
def test_the_way_it_was_chunked_does_not_show(chunk: int) -> None:
    mono = np.random.default_rng(0).uniform(-1, 1, 200_001).astype(np.float32)
    np.testing.assert_array_equal(columns_of(mono, chunk=chunk), columns_of(mono, chunk=200_001))


def test_columns_hold_the_true_extremes() -> None:
    # 128 samples a column: blocks merge three times on the way and edges coincide.
    mono = np.random.default_rng(1).uniform(-1, 1, 128_000).astype(np.float32)
    by_column = mono.reshape(1000, 128)
    expected = np.rint(127 * np.stack([by_column.min(axis=1), by_column.max(axis=1)], axis=1))
    np.testing.assert_array_equal(columns_of(mono, chunk=777), expected)


def test_a_clip_draws_the_mean_of_its_channels(tmp_path: Path) -> None:
    opposed = sine(dbfs=-6)
    opposed[1] *= -1
    assert inspect(write_wav(tmp_path / "opposed.wav", opposed)).peaks == bytes(2000)
    one_sided = noise()
    one_sided[1] = 0
    drawn = np.frombuffer(inspect(write_wav(tmp_path / "one.wav", one_sided)).peaks, np.int8)
    np.testing.assert_allclose((drawn.min(), drawn.max()), (-64, 64), atol=1)


def test_a_clip_of_any_length_draws_a_thousand_columns(tmp_path: Path) -> None:
    for seconds in (0.1, 1, 30):
        source = write_wav(tmp_path / "a.wav", noise(seconds, channels=1))
        assert len(inspect(source).peaks) == 2000, f"{seconds} s at {RATE} Hz"
