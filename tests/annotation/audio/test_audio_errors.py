"""Files that cannot become clips: each has a code, and a sentence that says what is wrong and what to do."""

from __future__ import annotations

import pickle
from pathlib import Path

import av
import numpy as np
import pytest

from annotation.audio.errors import AudioError, Limits, format_duration
from annotation.audio.ingest import content_sha256, inspect, measure_and_canonicalise
from tests.annotation.audio.recordings import (
    RATE,
    Floats,
    add_picture_track,
    encode,
    noise,
    sine,
    write_wav,
)


def refusal(source: Path, *, limits: Limits | None = None) -> AudioError:
    """The error that this file is refused with, having left nothing where the clip would be."""
    target = source.with_name("target.flac")
    with pytest.raises(AudioError) as caught:
        measure_and_canonicalise(source, target, limits=limits or Limits())
    assert not target.exists()
    return caught.value


def damaged_at(source: Path) -> float:
    """The second at which a file is said to break off."""
    error = refusal(source)
    assert error.code == "undecodable"
    return float(error.message.split(" at ")[1].split(" s")[0])


def test_it_refuses_a_path_with_nothing_behind_it_or_a_folder(tmp_path: Path) -> None:
    error = refusal(tmp_path / "nope.wav")
    assert error.code == refusal(tmp_path).code == "missing"
    assert "nope.wav" in error.message


def test_taking_in_and_hashing_refuse_missing_and_empty_files_alike(tmp_path: Path) -> None:
    (tmp_path / "a.wav").touch()
    assert refusal(tmp_path / "a.wav").code == "empty"
    for name, code in (("nope.wav", "missing"), ("a.wav", "empty")):
        with pytest.raises(AudioError) as caught:
            content_sha256(tmp_path / name)
        assert caught.value.code == code


TEXT = b"The quick brown fox jumps over the lazy dog.\n" * 100
PLAYLIST = b"ffconcat version 1.0\nfile secret.wav\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.wav", TEXT),
        ("a.mp3", TEXT),
        ("a.sln", TEXT),  # raw formats have no header: judged by its name, any file would be one
        ("a.mp3", np.random.default_rng(0).bytes(100_000)),
        ("a.wav", PLAYLIST),  # cannot reach other files
    ],
    ids=["text.wav", "text.mp3", "text.sln", "random", "playlist"],
)
def test_it_refuses_what_is_no_sound_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    write_wav(tmp_path / "secret.wav", noise())
    (tmp_path / name).write_bytes(content)
    assert refusal(tmp_path / name).code == "undecodable"


def test_it_refuses_a_film_without_sound(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "a.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=10, width=64, height=64, pix_fmt="yuv420p")
        picture = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
        container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    assert refusal(tmp_path / "a.mp4").code == "no_audio_stream"


def test_a_tenth_of_a_second_is_long_enough_to_hear_and_nothing_shorter(tmp_path: Path) -> None:
    facts = inspect(write_wav(tmp_path / "a.wav", noise(0.1)))
    assert (facts.n_samples, facts.loudness_lufs, len(facts.peaks)) == (4800, None, 2000)
    for n_samples in (0, 1, RATE // 10 - 1):
        error = refusal(write_wav(tmp_path / "a.wav", noise()[:, :n_samples]))
        assert error.code == "too_short"
        assert "0.1 s" in error.message


def test_it_refuses_two_hours_by_the_header_and_says_so(tmp_path: Path) -> None:
    silence = np.zeros((1, 2 * 3600 * 8000), np.int16)
    source = encode(tmp_path / "a.flac", silence, "flac", sample_format="s16", rate=8000, layout="mono")
    error = refusal(source)
    assert error.code == "too_long"
    assert error.message == "This file holds 2 h 0 min of audio; the limit is 30 min."


def test_a_header_over_the_limit_spares_the_decoding(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.flac", noise(5), "flac", sample_format="s16")
    first_frame = source.read_bytes().index(b"\xff\xf8")
    source.write_bytes(source.read_bytes()[: first_frame + 20_000])
    assert refusal(source, limits=Limits(max_seconds=2)).code == "too_long"


def test_without_a_stated_length_decoding_stops_at_the_limit(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.aac", sine(seconds=10), "aac", sample_format="fltp")
    size = source.stat().st_size
    # Damage near the end would be found, and named instead, if the decoder ever came there.
    source.write_bytes(source.read_bytes()[: size * 3 // 4] + bytes(size // 4))
    assert refusal(source, limits=Limits(max_seconds=60)).code == "undecodable"
    error = refusal(source, limits=Limits(max_seconds=3))
    assert error.code == "too_long"
    assert error.message.endswith("the limit is 3 s.")
    source = encode(tmp_path / "a.flac", noise(5), "flac", sample_format="s16")
    data = bytearray(source.read_bytes())
    data[21] &= 0xF0
    data[22:26] = bytes(4)  # a FLAC file that states no length
    source.write_bytes(data)
    assert inspect(source).duration_s == 5.0
    error = refusal(source, limits=Limits(max_seconds=2))
    assert error.message == "This file holds more than 2 s of audio; the limit is 2 s."


def test_a_bit_rate_guess_over_the_limit_does_not_refuse_a_short_file(tmp_path: Path) -> None:
    # Silence first: the guess from the first frames of this raw stream is several times its length.
    quiet_then_loud = np.concatenate([np.zeros((2, 10 * RATE)), noise(10) / 40_000], axis=1)
    source = encode(tmp_path / "a.aac", quiet_then_loud, "aac", sample_format="fltp")
    with av.open(str(source)) as container:
        assert container.duration is not None
        assert container.duration > 30e6
    assert inspect(source, limits=Limits(max_seconds=25)).duration_s == pytest.approx(20, abs=0.1)


def test_a_guess_under_the_length_of_an_mp3_is_no_promise(tmp_path: Path) -> None:
    def without_index(name: str, samples: Floats, bit_rate: int) -> bytes:
        mp3 = encode(tmp_path / name, samples, "libmp3lame", sample_format="fltp", bit_rate=bit_rate)
        data = mp3.read_bytes()
        return data[data.index(b"\xff\xfb", data.index(b"Info")) :]

    quiet = without_index("quiet.mp3", np.zeros((2, 10 * RATE)), 32_000)
    loud = without_index("loud.mp3", noise(10) / 40_000, 320_000)
    (tmp_path / "a.mp3").write_bytes(quiet + loud)
    with av.open(str(tmp_path / "a.mp3")) as container:
        assert container.duration is not None
        assert container.duration > 30e6
    assert inspect(tmp_path / "a.mp3").duration_s == pytest.approx(20, abs=0.2)


@pytest.mark.parametrize(
    ("name", "codec", "sample_format"),
    [("a.mka", "flac", "s16"), ("a.ogg", "libopus", "flt"), ("a.mov", "pcm_s16le", "s16")],
)
def test_a_late_first_time_stamp_is_neither_silence_nor_a_gap(
    tmp_path: Path, name: str, codec: str, sample_format: str
) -> None:
    samples = noise(2) if sample_format == "s16" else noise(2) / 40_000
    source = encode(tmp_path / name, samples, codec, sample_format=sample_format, first_time_s=3)
    assert inspect(source).n_samples == 2 * RATE


def test_a_picture_that_outlasts_the_sound_is_no_promise_of_sound(tmp_path: Path) -> None:
    sound = encode(tmp_path / "a.flac", noise(2), "flac", sample_format="s16")
    assert inspect(add_picture_track(tmp_path / "film.mkv", sound, seconds=5)).n_samples == 2 * RATE


def test_it_refuses_a_file_that_changes_its_rate_on_the_way(tmp_path: Path) -> None:
    one = encode(tmp_path / "one.aac", sine(seconds=2), "aac", sample_format="fltp")
    two = encode(tmp_path / "two.aac", sine(rate=44_100), "aac", sample_format="fltp", rate=44_100)
    (tmp_path / "a.aac").write_bytes(one.read_bytes() + two.read_bytes())
    error = refusal(tmp_path / "a.aac")
    assert error.code == "undecodable"
    assert "change at 2.0" in error.message


@pytest.mark.parametrize(
    ("name", "codec", "sample_format"),
    [
        ("a.wav", "pcm_s16le", "s16"),
        ("a.aiff", "pcm_s16be", "s16"),
        ("a.flac", "flac", "s16"),
        ("a.mp3", "libmp3lame", "fltp"),
        ("a.aac", "aac", "fltp"),
        ("a.webm", "libopus", "flt"),
    ],
)
def test_it_refuses_half_a_file_and_says_where_it_ends(
    tmp_path: Path, name: str, codec: str, sample_format: str
) -> None:
    samples = noise(4) if sample_format == "s16" else noise(4) / 40_000
    source = encode(tmp_path / name, samples, codec, sample_format=sample_format)
    source.write_bytes(source.read_bytes()[: source.stat().st_size // 2 + 7])
    assert damaged_at(source) == pytest.approx(2.0, abs=0.2)


def test_a_large_tag_does_not_hide_that_an_mp3_is_cut_off(tmp_path: Path) -> None:
    lyrics = {"lyrics": "la " * 10_000}
    source = encode(tmp_path / "a.mp3", sine(seconds=4), "libmp3lame", sample_format="fltp", tags=lyrics)
    source.write_bytes(source.read_bytes()[:-20_000])
    assert "its header promises 4.00 s" in refusal(source).message


def test_one_flipped_bit_in_a_flac_is_damage_at_its_time(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.flac", noise(4), "flac", sample_format="s16")
    data = bytearray(source.read_bytes())
    data[len(data) // 2] ^= 0x10
    source.write_bytes(data)
    assert damaged_at(source) == pytest.approx(2.0, abs=0.2)


def test_a_wav_from_a_pipe_is_not_taken_for_cut_off(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "a.wav", noise())
    data = bytearray(source.read_bytes())
    for size in (0, 0x7FFFFFFF, 0xFFFFFFFF):
        data[4:8] = data[40:44] = size.to_bytes(4, "little")
        source.write_bytes(data)
        assert inspect(source).n_samples == RATE


def test_it_refuses_samples_that_are_not_numbers(tmp_path: Path) -> None:
    samples = sine(seconds=3)
    for value in (np.nan, np.inf):
        samples[0, 2 * RATE] = value
        error = refusal(encode(tmp_path / "a.wav", samples, "pcm_f32le", sample_format="flt"))
        assert error.code == "undecodable"
        assert "not numbers" in error.message


def test_it_refuses_channels_it_cannot_mix_down_and_a_rate_that_would_blow_up_in_memory(
    tmp_path: Path,
) -> None:
    error = refusal(write_wav(tmp_path / "a.wav", noise(channels=9)))
    assert error.code == "undecodable"
    assert "9 channels" in error.message
    assert "stereo" in error.remedy
    assert refusal(write_wav(tmp_path / "b.wav", noise(0.01), rate=1)).code == "undecodable"


def test_an_error_survives_the_way_between_workers() -> None:
    error = AudioError("empty", "This file has 0 bytes.", "Export it again.")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, copy.message, copy.remedy) == (error.code, error.message, error.remedy)
    assert str(copy) == "This file has 0 bytes. Export it again."


def test_lengths_are_said_as_people_say_them() -> None:
    said = [format_duration(seconds) for seconds in (0.1, 60, 65, 1800, 7200, 7199.9)]
    assert said == ["0.1 s", "1 min", "1 min 5 s", "30 min", "2 h 0 min", "2 h 0 min"]
