"""The anchors of a MUSHRA test: what they keep, what they lose, and that nothing moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.audio.anchors import (
    CUTOFFS_HZ,
    STOPBAND_DB,
    TRANSITION_HZ,
    filtered,
    lowpass_taps,
    write_anchor,
)
from annotation.audio.errors import AudioError
from annotation.audio.ingest import content_sha256, measure_and_canonicalise
from tests.annotation.audio.recordings import RATE, encode, flac_depth, noise, read_flac, sine, write_wav

ROLES = pytest.mark.parametrize("role", list(CUTOFFS_HZ))


def decibels(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(samples.astype(float) ** 2)))


@pytest.mark.parametrize("cutoff", CUTOFFS_HZ.values())
def test_the_filter_is_flat_to_its_cut_off_and_silent_from_500_hz_above_it(cutoff):
    """Stricter than what is asked of the low anchor: within 0.1 dB, and 25 dB down at 4 kHz, 50 dB at 4.5 kHz."""
    taps = lowpass_taps(cutoff)
    assert len(taps) % 2 == 1
    np.testing.assert_allclose(taps, taps[::-1], atol=1e-15)  # delays all frequencies alike
    frequencies = np.fft.rfftfreq(1 << 18, 1 / RATE)
    level = 20 * np.log10(np.abs(np.fft.rfft(taps, 1 << 18)) + 1e-12)
    assert np.abs(level[frequencies <= cutoff]).max() < 0.01
    assert level[frequencies >= cutoff + TRANSITION_HZ].max() < -STOPBAND_DB


@ROLES
def test_an_anchor_holds_what_is_below_its_cut_off_and_nothing_above(tmp_path: Path, role):
    cutoff = CUTOFFS_HZ[role]
    kept, lost = sine(cutoff - 50, seconds=3), sine(cutoff + TRANSITION_HZ, seconds=3)
    write_anchor(write_wav(tmp_path / "low.wav", kept), tmp_path / "low.flac", role=role)
    write_anchor(write_wav(tmp_path / "high.wav", lost), tmp_path / "high.flac", role=role)
    middle = slice(RATE, 2 * RATE)
    low, high = (read_flac(tmp_path / name)[:, middle] / 32768 for name in ("low.flac", "high.flac"))
    assert decibels(low) == pytest.approx(decibels(kept[:, middle]), abs=0.02)
    assert decibels(high) < decibels(lost[:, middle]) - STOPBAND_DB


@ROLES
def test_an_anchor_is_aligned_with_its_reference_to_the_sample(tmp_path: Path, role):
    """A click's anchor peaks where the click is, and is as long as it; over chunks and at the very ends too."""
    places = [0, 1000, 46_080, 92_159, 119_999]
    clicks = np.zeros((1, 120_000))
    for place in places:
        clicks[0, place] = 0.9
    write_anchor(write_wav(tmp_path / "a.wav", clicks), tmp_path / "a.flac", role=role)
    anchor = read_flac(tmp_path / "a.flac")[0]
    assert len(anchor) == clicks.shape[1]
    for place in places:
        around = slice(max(0, place - 50), place + 50)
        assert around.start + int(np.argmax(anchor[around])) == place


def test_the_reference_and_its_anchor_do_not_drift(tmp_path: Path):
    """Noise below both cut-offs comes through unchanged, sample by sample, over several chunks."""
    rng = np.random.default_rng(5)
    slow = sum(
        rng.normal() * sine(hertz, dbfs=-40, seconds=3, degrees=hertz) for hertz in range(100, 3300, 100)
    )
    write_anchor(write_wav(tmp_path / "a.wav", slow), tmp_path / "a.flac", role="anchor_3500")
    inside = slice(4800, -4800)
    reference = np.rint(slow * 32767)[:, inside]
    assert np.abs(read_flac(tmp_path / "a.flac")[:, inside] - reference).max() <= 3


def test_equal_references_give_equal_bytes_under_any_name_and_the_two_anchors_differ(tmp_path: Path):
    samples = noise(1.3)
    digests: dict[str, set[str]] = {role: set() for role in CUTOFFS_HZ}
    for role, found in digests.items():
        for name in ("one.wav", "two.wav"):
            write_anchor(write_wav(tmp_path / name, samples), tmp_path / f"{name}.flac", role=role)
            found.add(content_sha256(tmp_path / f"{name}.flac"))
    assert [len(found) for found in digests.values()] == [1, 1]
    assert digests["anchor_3500"] != digests["anchor_7000"]


def test_an_anchor_has_its_references_channels_depth_and_rate(tmp_path: Path):
    source = encode(tmp_path / "a.flac", noise(bits=24), "flac", sample_format="s32")
    write_anchor(source, tmp_path / "b.flac", role="anchor_3500")
    assert flac_depth(tmp_path / "b.flac") == 24
    facts = measure_and_canonicalise(tmp_path / "b.flac", tmp_path / "c.flac")
    assert (facts.channels, facts.source_sample_rate, facts.n_samples) == (2, RATE, RATE)


def test_what_is_no_sound_has_no_anchor(tmp_path: Path):
    (tmp_path / "a.wav").write_bytes(b"not a sound")
    with pytest.raises(AudioError):
        write_anchor(tmp_path / "a.wav", tmp_path / "a.flac", role="anchor_3500")


@given(lengths=st.lists(st.integers(1, 700), min_size=1, max_size=8), seed=st.integers(0, 100))
def test_how_the_sound_is_cut_into_chunks_does_not_matter(lengths, seed):
    sound = np.random.default_rng(seed).normal(size=(2, sum(lengths))).astype(np.float32)
    taps = lowpass_taps(3500)
    whole = np.concatenate(list(filtered([sound], taps)), axis=1)
    parts = np.split(sound, np.cumsum(lengths)[:-1], axis=1)
    pieces = np.concatenate(list(filtered(parts, taps)), axis=1)
    assert whole.shape == sound.shape
    np.testing.assert_allclose(pieces, whole, atol=1e-6)
