"""What comes out when a sound file is taken in, its drawn waveform, and files that are refused: why, and what to do."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.audio.errors import AudioError, Limits, format_duration
from annotation.audio.ingest import AudioFacts, PeakColumns, content_sha256, inspect, measure_and_canonicalise
from tests.annotation.audio.recordings import (
    RATE,
    Floats,
    add_picture_track,
    encode,
    flac_blocks,
    flac_depth,
    noise,
    read_flac,
    sine,
    write_wav,
)

TAGS = {"title": "Système 7, seed 42", "artist": "MusicGen-large", "comment": "better take", "date": "2026"}


@pytest.mark.parametrize(
    ("name", "codec", "bits", "channels"),
    [
        ("a.wav", "pcm_s16le", 16, 2),
        ("a.wav", "pcm_s16le", 16, 1),
        ("a.flac", "flac", 24, 2),
        ("a.wav", "pcm_s24le", 24, 2),
    ],
)
def test_it_keeps_every_sample_depth_and_channel_from_the_first(
    tmp_path: Path, name: str, codec: str, bits: int, channels: int
) -> None:
    samples = noise(1.7, bits=bits, channels=channels)
    layout, sample_format = "mono" if channels == 1 else "stereo", "s16" if bits == 16 else "s32"
    source = encode(tmp_path / name, samples, codec, sample_format=sample_format, layout=layout)
    facts = measure_and_canonicalise(source, tmp_path / "a.out")
    assert (flac_depth(tmp_path / "a.out"), facts.channels) == (bits, channels)
    np.testing.assert_array_equal(read_flac(tmp_path / "a.out"), samples)


def test_it_keeps_24_bits_of_a_float_wav_and_16_of_a_lossy_file(tmp_path: Path) -> None:
    wav = encode(tmp_path / "a.wav", sine(), "pcm_f32le", sample_format="flt")
    mp3 = encode(tmp_path / "a.mp3", sine(), "libmp3lame", sample_format="fltp")
    measure_and_canonicalise(wav, tmp_path / "wav.out")
    measure_and_canonicalise(mp3, tmp_path / "mp3.out")
    assert (flac_depth(tmp_path / "wav.out"), flac_depth(tmp_path / "mp3.out")) == (24, 16)


def test_it_resamples_44100_without_moving_or_bending_the_sound(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "a.wav", sine(997, dbfs=-6, seconds=2, rate=44_100), rate=44_100)
    facts = measure_and_canonicalise(source, tmp_path / "a.out")
    assert (facts.n_samples, facts.duration_s, facts.source_sample_rate) == (96_000, 2.0, 44_100)
    expected = sine(997, dbfs=-6, seconds=2) * 32767
    error = read_flac(tmp_path / "a.out") - expected
    assert np.abs(error[:, 2000:-2000]).max() < 2


def test_resampling_keeps_the_highest_audible_octave_and_folds_nothing_back_from_above(
    tmp_path: Path,
) -> None:
    source = write_wav(tmp_path / "a.wav", sine(20_000, dbfs=-12, seconds=1, rate=44_100), rate=44_100)
    measure_and_canonicalise(source, tmp_path / "a.out")
    heard = read_flac(tmp_path / "a.out")[0, 4000:-4000] / 32768
    assert 20 * np.log10(np.sqrt(2) * heard.std()) == pytest.approx(-12, abs=0.02)
    above = sine(26_000, dbfs=-6, seconds=1, rate=96_000)
    source = encode(tmp_path / "b.wav", above, "pcm_f32le", sample_format="flt", rate=96_000)
    measure_and_canonicalise(source, tmp_path / "b.out")
    assert np.abs(read_flac(tmp_path / "b.out")[0, 4000:-4000]).max() < 2**23 * 1e-5


def test_a_centre_channel_reaches_both_ears_alike(tmp_path: Path) -> None:
    surround = np.zeros((6, RATE))
    surround[2] = sine(channels=1, dbfs=-12)[0]
    source = encode(tmp_path / "a.wav", surround, "pcm_f32le", sample_format="flt", layout="5.1")
    facts = measure_and_canonicalise(source, tmp_path / "a.out")
    left, right = read_flac(tmp_path / "a.out")
    assert facts.channels == 2
    np.testing.assert_array_equal(left, right)
    # ITU-R BS.775: the centre at -3 dB, and the sum scaled down by 1 + 2 / sqrt(2) so that it cannot clip.
    assert np.abs(left).max() / 2**23 == pytest.approx(10 ** (-12 / 20) * 0.7071 / 2.4142, rel=1e-3)


def test_a_downmix_of_full_channels_does_not_clip(tmp_path: Path) -> None:
    tone = sine(channels=6, dbfs=-0.1)
    source = encode(tmp_path / "a.wav", tone, "pcm_f32le", sample_format="flt", layout="5.1")
    measure_and_canonicalise(source, tmp_path / "a.out")
    np.testing.assert_allclose(read_flac(tmp_path / "a.out") / 2**23, tone[:2], atol=1e-4)


def test_a_clipped_file_is_accepted_at_full_scale(tmp_path: Path) -> None:
    loud = sine(100, dbfs=6)
    source = encode(tmp_path / "a.wav", loud, "pcm_f32le", sample_format="flt")
    facts = measure_and_canonicalise(source, tmp_path / "a.out")
    heard = read_flac(tmp_path / "a.out")
    assert (heard.min(), heard.max()) == (-(2**23), 2**23 - 1)
    assert (facts.true_peak_dbtp or 0.0) > 0


@pytest.mark.parametrize(
    ("name", "codec", "sample_format"),
    [("a.wav", "pcm_s16le", "s16"), ("a.flac", "flac", "s16"), ("a.aiff", "pcm_s16be", "s16")],
)
def test_tags_and_container_leave_no_trace_in_the_bytes(
    tmp_path: Path, name: str, codec: str, sample_format: str
) -> None:
    samples = noise()
    plain = measure_and_canonicalise(write_wav(tmp_path / "plain.wav", samples), tmp_path / "plain.out")
    tagged_file = encode(tmp_path / name, samples, codec, sample_format=sample_format, tags=TAGS)
    assert b"seed 42" in tagged_file.read_bytes()
    tagged = measure_and_canonicalise(tagged_file, tmp_path / "tagged.out")
    assert (tmp_path / "tagged.out").read_bytes() == (tmp_path / "plain.out").read_bytes()
    assert tagged.canonical_sha256 == plain.canonical_sha256


def test_mp3_tags_leave_no_trace_in_the_bytes(tmp_path: Path) -> None:
    plain = encode(tmp_path / "plain.mp3", sine(), "libmp3lame", sample_format="fltp")
    tagged = encode(tmp_path / "tagged.mp3", sine(), "libmp3lame", sample_format="fltp", tags=TAGS)
    old_tag = b"TAG" + b"MusicGen".ljust(125, b"\0")
    tagged.write_bytes(tagged.read_bytes() + old_tag)
    one = measure_and_canonicalise(plain, tmp_path / "one")
    two = measure_and_canonicalise(tagged, tmp_path / "two")
    assert plain.read_bytes() != tagged.read_bytes()
    assert one.canonical_sha256 == two.canonical_sha256


def test_tags_in_an_old_code_page_do_not_stop_the_file(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "a.wav", noise())
    entry = b"INFOINAM" + (4).to_bytes(4, "little") + "Thé\0".encode("latin-1")
    chunk = b"LIST" + len(entry).to_bytes(4, "little") + entry
    source.write_bytes(source.read_bytes() + chunk)
    assert inspect(source).n_samples == RATE


def test_the_canonical_file_holds_sound_and_a_constant_vendor_only(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.flac", noise(), "flac", sample_format="s16", tags=TAGS)
    measure_and_canonicalise(source, tmp_path / "a.out")
    blocks = dict(flac_blocks(tmp_path / "a.out"))
    no_comments = (6).to_bytes(4, "little") + b"ffmpeg" + (0).to_bytes(4, "little")
    assert sorted(blocks) == [0, 1, 4]
    assert blocks[4] == no_comments
    assert not any(blocks[1])


def test_a_file_gives_the_same_bytes_each_time_and_its_canonical_file_is_itself(tmp_path: Path) -> None:
    wave = sine(rate=44_100)  # which is resampled
    source = encode(tmp_path / "a.mp3", wave, "libmp3lame", sample_format="fltp", rate=44_100)
    first = measure_and_canonicalise(source, tmp_path / "one.flac")
    assert measure_and_canonicalise(source, tmp_path / "again.bin") == first
    second = measure_and_canonicalise(tmp_path / "one.flac", tmp_path / "two.flac")
    assert second.canonical_sha256 == first.canonical_sha256
    assert second.loudness_lufs == first.loudness_lufs
    assert second.peaks == first.peaks


def test_the_facts_name_the_source_and_the_file(tmp_path: Path) -> None:
    source = encode(tmp_path / "a.mp3", sine(seconds=2), "libmp3lame", sample_format="fltp")
    facts = measure_and_canonicalise(source, tmp_path / "a.out")
    assert (facts.source_codec, facts.source_sample_rate, facts.silent) == ("mp3", 48_000, False)
    assert facts.n_bytes == len((tmp_path / "a.out").read_bytes())
    assert facts.canonical_sha256 == content_sha256(tmp_path / "a.out")


def test_a_dry_run_measures_the_same_and_writes_nothing(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "a.wav", sine())
    dry = inspect(source)
    assert list(tmp_path.iterdir()) == [source]
    wet = measure_and_canonicalise(source, tmp_path / "a.flac")
    assert dry == AudioFacts(**{name: getattr(wet, name) for name in AudioFacts.__dataclass_fields__})


@pytest.mark.parametrize(
    ("samples", "silent", "peaks_at_all"),
    [(np.zeros((2, RATE)), True, False), (np.sign(noise()), True, True), (sine(dbfs=-76), False, True)],
    ids=["digital silence is a valid clip", "dither alone is silence", "a faint tone below the gate is not"],
)
def test_silence_and_faint_sounds_have_no_loudness(
    tmp_path: Path, samples: np.ndarray, silent: bool, peaks_at_all: bool
) -> None:
    facts = inspect(write_wav(tmp_path / "a.wav", samples))
    assert (facts.silent, facts.loudness_lufs) == (silent, None)
    assert (facts.true_peak_dbtp is not None) == peaks_at_all
    assert peaks_at_all or facts.peaks == bytes(2000)


def test_a_refused_file_leaves_the_old_target_and_no_scraps_and_a_new_one_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "a.flac").write_text("old")
    source = encode(tmp_path / "half.flac", noise(5), "flac", sample_format="s16")
    source.write_bytes(source.read_bytes()[:-50_000])
    with pytest.raises(AudioError):
        measure_and_canonicalise(source, tmp_path / "a.flac")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.flac", "half.flac"]
    assert (tmp_path / "a.flac").read_text() == "old"
    measure_and_canonicalise(write_wav(tmp_path / "a.wav", noise()), tmp_path / "a.flac")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.flac", "a.wav", "half.flac"]
    assert read_flac(tmp_path / "a.flac").shape == (2, RATE)


def test_memory_does_not_grow_with_the_clip(tmp_path: Path) -> None:
    # Five minutes of stereo are 115 MB as float32.
    source = write_wav(tmp_path / "a.wav", np.zeros((2, 300 * RATE), np.int32))
    code = (
        "import resource, sys; from pathlib import Path; from annotation.audio.ingest import *\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "measure_and_canonicalise(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, source, tmp_path / "a.flac"], check=True, capture_output=True, text=True
    )
    assert int(done.stdout) / 1024 < 60


def test_the_hash_of_the_original_is_plain_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_text("abc")
    # FIPS 180-2, appendix B.1.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert content_sha256(tmp_path / "abc") == expected


def test_both_limits_belong_to_the_allowed_range(tmp_path: Path) -> None:
    facts = inspect(write_wav(tmp_path / "a.wav", sine()), limits=Limits(min_seconds=1.0, max_seconds=1.0))
    assert facts.duration_s == 1.0


# ── Files that cannot become clips ───────────────────────────────────────────────────────────────────────────


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


# ── The drawn waveform ───────────────────────────────────────────────────────────────────────────────────────


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
