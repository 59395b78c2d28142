"""What a model hears of a file: the same sound at the model's rate, with nothing in it that was not there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring.backbones.loading import sounds
from scoring.backbones.loading.sounds import decode as decode_up_to
from scoring.metrics.contract import ExampleError, Sound
from tests.annotation.audio.recordings import RATE, encode, noise, sine, write_wav


def sound(path: Path) -> Sound:
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "0" * 64, path, 1.0)


def decode(heard: Sound, *, rate: int) -> NDArray[np.float32]:
    return decode_up_to(heard, rate=rate, seconds=10.0)


def level(samples: NDArray[np.float32]) -> float:
    """Peak of a tone in dB full scale, from its power, edges left out."""
    middle = samples[len(samples) // 4 : -len(samples) // 4].astype(np.float64)
    return float(10 * np.log10(2 * np.mean(middle**2)))


@pytest.mark.parametrize("rate", [16_000, 24_000, 44_100, 48_000])
def test_it_keeps_the_level_and_length_of_a_tone(tmp_path: Path, rate: int) -> None:
    heard = decode(sound(write_wav(tmp_path / "tone.wav", sine(7_000, dbfs=-6.0))), rate=rate)
    assert heard.dtype == np.float32
    assert heard.shape == (rate,)
    assert level(heard) == pytest.approx(-6.0, abs=0.01)


def test_it_keeps_a_tone_at_its_frequency_and_phase(tmp_path: Path) -> None:
    heard = decode(sound(write_wav(tmp_path / "tone.wav", sine(440, dbfs=-6.0, channels=1))), rate=16_000)
    expected = sine(440, dbfs=-6.0, rate=16_000, channels=1)[0]
    np.testing.assert_allclose(heard[500:-500], expected[500:-500], atol=2e-4)


@pytest.mark.parametrize("frequency", [8_100, 9_000, 12_000, 15_000, 23_000])
def test_it_lets_no_image_of_a_higher_tone_through(tmp_path: Path, frequency: float) -> None:
    heard = decode(sound(write_wav(tmp_path / "tone.wav", sine(frequency, dbfs=-1.0))), rate=16_000)
    assert level(heard) < -85.0


def test_it_returns_the_very_samples_of_a_clip_at_its_own_rate(tmp_path: Path) -> None:
    written = noise(0.3, channels=1)
    clip = encode(tmp_path / "clip.flac", written, "flac", sample_format="s16", layout="mono")
    np.testing.assert_array_equal(decode(sound(clip), rate=RATE), written[0] / np.float32(32768))


def test_it_hears_the_mean_of_the_channels(tmp_path: Path) -> None:
    left_only = sine(1_000, dbfs=-6.0) * np.array([[1.0], [0.0]])
    heard = decode(sound(write_wav(tmp_path / "left.wav", left_only)), rate=16_000)
    assert level(heard) == pytest.approx(-12.02, abs=0.01)


def test_it_reads_lossy_files_of_another_rate(tmp_path: Path) -> None:
    tone = sine(1_000, dbfs=-6.0, rate=44_100, seconds=2)
    file = encode(tmp_path / "tone.m4a", tone, "aac", sample_format="fltp", rate=44_100)
    assert level(decode(sound(file), rate=16_000)) == pytest.approx(-6.0, abs=0.1)


def broken_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """By what is wrong: the file, and the fault it is."""
    whole = encode(folder / "whole.flac", noise(2.0), "flac", sample_format="s16").read_bytes()
    contents = {"empty": b"", "text": b"not a sound at all" * 100, "header alone": b"fLaC" + b"\0" * 400}
    # Not scored for what is left of it.
    contents["cut short"] = whole[:-200_000]
    for name, content in contents.items():
        (folder / f"{name}.flac").write_bytes(content)
    return {
        "gone": (folder / "gone.flac", "missing"),
        "without samples": (write_wav(folder / "none.wav", np.zeros((1, 0))), "undecodable"),
        **{name: (folder / f"{name}.flac", "undecodable") for name in contents},
    }


def test_a_file_that_cannot_be_heard_whole_is_the_example_s_fault(tmp_path: Path) -> None:
    for what, (path, code) in broken_files(tmp_path).items():
        with pytest.raises(ExampleError) as caught:
            decode(sound(path), rate=16_000)
        assert (what, caught.value.fault.code) == (what, code)
        assert code == "undecodable" or path.name in caught.value.fault.message


def test_of_a_sound_that_is_too_long_no_more_is_decoded_than_can_be_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def endless(heard: Sound) -> Iterator[NDArray[np.float32]]:
        while len(read) < 1000:
            read.append(heard)
            yield np.zeros((1, RATE // 4), np.float32)

    monkeypatch.setattr(sounds, "_mono", endless)
    with pytest.raises(ExampleError) as caught:
        decode_up_to(sound(tmp_path / "long.flac"), rate=16_000, seconds=10.0)
    assert caught.value.fault.code == "too_long_sound"
    assert "10 s" in caught.value.fault.message
    assert len(read) < 4 * 12


@pytest.mark.parametrize(("seconds", "kept"), [(0.9, 0.9), (1.0, 1.0), (1.4, 1.0)])
def test_what_an_encoder_adds_behind_a_clip_is_cut_off_again(
    tmp_path: Path, seconds: float, kept: float
) -> None:
    clip = sound(write_wav(tmp_path / "clip.wav", noise(seconds)))
    assert len(decode_up_to(clip, rate=16_000, seconds=1.0)) == 16_000 * kept
