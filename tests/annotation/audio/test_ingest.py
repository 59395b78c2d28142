"""What comes out when a sound file is taken in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from annotation.audio.errors import AudioError, Limits
from annotation.audio.ingest import AudioFacts, content_sha256, inspect, measure_and_canonicalise
from tests.annotation.audio.recordings import (
    RATE,
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
