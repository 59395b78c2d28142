from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from annotation.audio.flac import FlacWriter, quantise
from annotation.audio.spectrogram import HEIGHT, N_BYTES, WIDTH, spectrogram

RATE = 48_000


@pytest.fixture
def drawn(tmp_path: Path):
    """The picture of a signal of shape (channels, n), as rows of columns."""

    def draw(signal: np.ndarray, *, bits: int = 16) -> np.ndarray:
        path = tmp_path / "clip.flac"
        with FlacWriter(path, channels=len(signal), bits=bits, rate=RATE) as writer:
            writer.push(quantise(signal.astype(np.float32), bits=bits))
        grey = spectrogram(BytesIO(path.read_bytes()), n_samples=signal.shape[1])
        assert len(grey) == N_BYTES
        return np.frombuffer(grey, np.uint8).reshape(HEIGHT, WIDTH)

    return draw


def tone(hertz: float, seconds: float = 3.0, level: float = 0.3) -> np.ndarray:
    return level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)[None]


def row_of(hertz: float) -> int:
    """Where a frequency lies, from the top, by the mel scale between 30 Hz and 20 kHz."""
    mel = [2595 * np.log10(1 + f / 700) for f in (30, hertz, 20_000)]
    return round(HEIGHT - (mel[1] - mel[0]) / (mel[2] - mel[0]) * (HEIGHT + 1))


@pytest.mark.parametrize("hertz", [60, 440, 2000, 12_000])
def test_a_tone_is_a_line_at_its_height(drawn, hertz):
    picture = drawn(tone(hertz))
    brightest = picture[:, 100:-100].argmax(axis=0)
    assert np.abs(brightest - row_of(hertz)).max() <= 1
    assert picture[row_of(hertz)].min() > 240
    assert np.median(picture) < 60


def test_what_comes_later_is_further_right(drawn):
    silence = np.zeros((1, RATE))
    picture = drawn(np.concatenate([silence, tone(1000, 1.0), silence], axis=1))
    loud = picture[row_of(1000)] > 200
    assert 260 <= np.argmax(loud) <= 272
    assert 528 <= WIDTH - np.argmax(loud[::-1]) <= 540


def test_the_level_of_a_clip_does_not_show(drawn):
    quiet, loud = (drawn(tone(440, level=level), bits=24) for level in (0.05, 0.5))
    assert np.abs(quiet.astype(int) - loud).max() <= 1


def test_both_channels_show_and_silence_is_black(drawn):
    picture = drawn(np.concatenate([tone(300), tone(3000)]))
    assert picture[[row_of(300), row_of(3000)], 400].min() > 240
    assert not drawn(np.zeros((1, RATE))).any()


@pytest.mark.parametrize("n", [4800, 4801, 100_003])
def test_clips_of_any_length_fill_the_picture(drawn, n):
    noise = np.random.default_rng(1).normal(0, 0.1, (2, n))
    picture = drawn(noise)
    np.testing.assert_array_equal(drawn(noise), picture)
    assert (picture.max(axis=0) > 0).all()
    assert (picture[:, 50:-50].mean(axis=0) > 100).all()


def test_the_windows_of_a_long_clip_cover_all_of_it(drawn):
    """A click anywhere in two minutes shows in its column."""
    signal = np.zeros((1, 120 * RATE))
    places = np.array([0.1234, 0.5, 0.777])
    signal[0, (places * signal.shape[1]).astype(int)] = 0.9
    lit = drawn(signal).max(axis=0) > 100
    for place in places:
        assert lit[int(place * WIDTH) - 1 : int(place * WIDTH) + 2].any()
