"""What the built-in encoder of music hears, and what it must not."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from scoring.backbones.encoders.contract import MusicEncoder, Span
from scoring.backbones.encoders.mel_features import (
    ENDS,
    RATE,
    chroma,
    click_rates,
    clipping,
    ending_levels,
    key_clarity,
    major_or_minor,
    mel_levels,
    normalize_loudness,
    onset_autocorrelation,
    onsets,
    percussion,
    repetition,
    spectrum_statistics,
    steadiness,
)
from scoring.backbones.encoders.mel_music import FACT_WIDTH, WORD_WIDTH, MelMusic, tokens_of
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.contract import ExampleError, Sound
from tests.annotation.audio.recordings import write_wav

FACTS = slice(-WORD_WIDTH - FACT_WIDTH, -WORD_WIDTH)


def tune(*, rate: int, seconds: float = 4.0, bpm: float = 120.0, seed: int = 0) -> np.ndarray:
    """Struck tones of C major, one a beat, and some noise with each."""
    chance = np.random.default_rng(seed)
    t = np.arange(round(seconds * rate)) / rate
    found = np.zeros(len(t))
    for beat, pitch in enumerate(chance.choice([60, 64, 67, 72], size=int(seconds * bpm / 60))):
        since = t - beat * 60 / bpm
        tone = np.sin(2 * np.pi * 440 * 2 ** ((pitch - 69) / 12) * since) * np.exp(-6 * since)
        found += np.where(since >= 0, tone, 0)
    return found * np.minimum(1, (seconds - t) / 0.3)


def stored(path: Path, samples: np.ndarray, *, rate: int, channels: int = 1, gain: float = 0.5) -> Sound:
    pcm = np.tile((samples / np.abs(samples).max() * gain * 32_000).astype(np.int32), (channels, 1))
    write_wav(path, pcm, rate=rate)
    return Sound(path.stem, path, len(samples) / rate)


@pytest.fixture
def encoder(tmp_path: Path) -> MusicEncoder:
    return MelMusic(FeatureCache(tmp_path / "features", limit_bytes=0))


def heard(encoder: MusicEncoder, *spans: Span) -> list[torch.Tensor]:
    found = encoder.of_spans(spans)
    assert all(isinstance(one, torch.Tensor) for one in found)
    return found  # type: ignore[return-value]


def test_loudness_channels_and_sampling_rate_of_a_file_do_not_show(
    encoder: MusicEncoder, tmp_path: Path
) -> None:
    plain, quiet, fine = heard(
        encoder,
        Span(stored(tmp_path / "plain.wav", tune(rate=32_000), rate=32_000)),
        Span(stored(tmp_path / "quiet.wav", tune(rate=32_000), rate=32_000, channels=2, gain=0.1)),
        Span(stored(tmp_path / "fine.wav", tune(rate=48_000), rate=48_000)),
    )
    other = heard(encoder, Span(stored(tmp_path / "other.wav", tune(rate=32_000, seed=1), rate=32_000)))[0]
    # Sixteen bits are coarser for a quiet file: its quietest bands, far below the music, are another noise.
    for same in (quiet, fine):
        assert (same - plain).abs().mean() < 0.05 * (other - plain).abs().mean() + 0.02


def test_a_sound_is_heard_alike_whatever_else_is_asked_for(encoder: MusicEncoder, tmp_path: Path) -> None:
    sounds = [
        stored(tmp_path / f"{n}.wav", tune(rate=RATE, seconds=2 + n, seed=n), rate=RATE) for n in range(3)
    ]
    together = heard(encoder, *map(Span, sounds))
    for sound, found in zip(sounds, together, strict=True):
        assert torch.equal(heard(encoder, Span(sound))[0], found)


def test_a_long_sound_has_a_token_for_each_ten_seconds_and_silence_has_one(
    encoder: MusicEncoder, tmp_path: Path
) -> None:
    long = stored(tmp_path / "long.wav", np.tile(tune(rate=RATE), 6), rate=RATE)
    assert heard(encoder, Span(long))[0].shape == (3, encoder.width)
    path = tmp_path / "silence.wav"
    silent = stored(path, np.eye(1, RATE // 2)[0], rate=RATE)
    found = heard(encoder, Span(silent, 0.1))[0]
    assert found.shape == (1, encoder.width)
    assert torch.isfinite(found).all()


def test_an_encoder_that_nobody_holds_is_gone_at_once(tmp_path: Path) -> None:
    """A training opens one after the other, each with its weights."""
    gc.disable()
    try:
        opened = MelMusic(FeatureCache(tmp_path / "features", limit_bytes=0))
        heard(opened, Span(stored(tmp_path / "one.wav", tune(rate=RATE), rate=RATE)))
        gone = weakref.ref(opened)
        del opened
        assert gone() is None
    finally:
        gc.enable()


def test_a_missing_file_is_a_fault_of_its_own(encoder: MusicEncoder, tmp_path: Path) -> None:
    there = stored(tmp_path / "there.wav", tune(rate=RATE, seconds=1), rate=RATE)
    gone = replace(there, sha256="gone", path=tmp_path / "gone.wav")
    found = encoder.of_spans([Span(gone), Span(there)])
    assert isinstance(found[0], ExampleError)
    assert isinstance(found[1], torch.Tensor)


def test_nothing_is_told_of_the_end_of_a_sound_that_goes_on(encoder: MusicEncoder, tmp_path: Path) -> None:
    whole = stored(tmp_path / "whole.wav", tune(rate=RATE), rate=RATE)
    ends = slice(0, ENDS)
    cut, full = heard(encoder, Span(whole, 0.0, 2.0), Span(whole))
    assert (cut[:, ends] == 0).all()
    assert (full[:, ends] < 0).any()


@pytest.mark.parametrize(("bpm", "other"), [(80, 112), (100, 70), (120, 84)])
def test_a_tempo_is_heard_as_texts_speak_of_it(
    encoder: MusicEncoder, tmp_path: Path, bpm: int, other: int
) -> None:
    sound = stored(tmp_path / f"{bpm}.wav", tune(rate=RATE, seconds=8, bpm=bpm), rate=RATE)
    tempo = heard(encoder, Span(sound))[0][0, FACTS][:2].numpy()
    asked, half, wrong = (tokens_of(f"{number} bpm")[0][0, :2] for number in (bpm, bpm / 2, other))
    assert tempo @ asked > 0.5 * np.linalg.norm(asked) * np.linalg.norm(tempo)
    np.testing.assert_allclose(half, asked, atol=1e-9)
    assert tempo @ wrong < 0


def chord(*pitches: int) -> np.ndarray:
    t = np.arange(2 * RATE) / RATE
    return np.asarray(
        np.sum([np.sin(2 * np.pi * 440 * 2 ** ((pitch - 69) / 12) * t) for pitch in pitches], axis=0)
    )


def test_major_and_minor_are_told_apart_and_so_are_tones_outside_of_the_key() -> None:
    major = chroma(np.concatenate([chord(60, 64, 67), chord(65, 69, 72), chord(67, 71, 74)]))
    minor = chroma(np.concatenate([chord(60, 63, 67), chord(65, 68, 72), chord(60, 63, 67)]))
    strange = chroma(np.concatenate([chord(60, 64, 67), chord(61, 66, 70), chord(67, 71, 74)]))
    assert major_or_minor(major) > 0 > major_or_minor(minor)
    assert key_clarity(strange)[2] > key_clarity(major)[2] + 1


def test_the_loudest_tone_of_a_chroma_is_the_one_that_sounds() -> None:
    assert chroma(chord(69)).sum(axis=0).argmax() == 9


def test_flaws_of_a_recording_are_heard() -> None:
    clean, chance = (
        normalize_loudness(tune(rate=RATE).astype(np.float32)),
        np.random.default_rng(0),
    )
    hissing = normalize_loudness(clean + 0.02 * chance.standard_normal(len(clean)))
    clipped = normalize_loudness(clean.clip(-0.1, 0.1))
    cracking = clean.copy()
    cracking[RATE // 3 :: RATE // 2] += 0.5
    half = len(spectrum_statistics(mel_levels(clean))) - 1
    assert spectrum_statistics(mel_levels(hissing))[half] > spectrum_statistics(mel_levels(clean))[half] + 1
    assert clipping(clipped)[4] > clipping(clean)[4] + 1
    assert click_rates(cracking)[0] > click_rates(clean)[0] + 1
    assert ending_levels(clean[: len(clean) * 3 // 4 + 100])[0] > ending_levels(clean)[0] + 1


def test_a_hand_that_sways_is_less_steady_and_one_bar_over_and_over_repeats() -> None:
    even = onsets(mel_levels(tune(rate=RATE, seconds=6)))
    swaying = onsets(mel_levels(np.concatenate([tune(rate=RATE, seconds=2, bpm=b) for b in (120, 100, 143)])))
    assert steadiness(onset_autocorrelation(even))[1] > steadiness(onset_autocorrelation(swaying))[1]
    bar = chance_rows(10)
    assert repetition(np.tile(bar, (4, 1)))[0] > repetition(chance_rows(40))[0] + 1


def chance_rows(n: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((n, 12))


def test_percussion_is_brief_and_broad() -> None:
    t = np.arange(4 * RATE) / RATE
    struck = np.random.default_rng(0).standard_normal(len(t)) * np.exp(-30 * (t % 0.5))
    held = chord(60, 64, 67)
    drums, chords = (percussion(mel_levels(sound)).mean() for sound in (struck, held))
    assert drums > chords + 1


def test_what_a_text_says_of_tempo_mode_and_drums_is_told_apart_from_its_words() -> None:
    facts, words = tokens_of("Slow organ in G minor at 84 bpm, no drums: a kitchen with drummers, 1984.")
    assert facts.shape == (15, FACT_WIDTH)
    assert words.shape == (15, WORD_WIDTH)
    said = [np.flatnonzero(row).tolist() for row in facts]
    assert said[4] == [2]
    assert facts[4, 2] < 0
    assert said[6] == [0, 1]
    assert said[9] == [3]
    assert facts[9, 3] < 0
    assert said[13] == [3]
    assert facts[13, 3] > 0
    assert said[14] == []
    assert ((words != 0).any(axis=1) != (facts != 0).any(axis=1)).all()


def test_words_alike_are_near_and_a_negated_word_is_another() -> None:
    def word(text: str) -> np.ndarray:
        found = tokens_of(text)[1][-1]
        return np.asarray(found / np.linalg.norm(found))

    strange = [abs(word("guitar") @ word(other)) for other in ("flute", "waltz", "evening", "slow", "piano")]
    assert word("guitar") @ word("guitars") > np.mean(strange) + 0.3
    assert word("no guitar") @ word("guitar") < 0.5
    assert word("no drums, guitar") @ word("guitar") == pytest.approx(1)


def test_an_empty_text_has_a_token_and_a_text_is_read_alike_alone_and_among_others(
    encoder: MusicEncoder,
) -> None:
    found = encoder.of_texts(["", "a quiet waltz", "", "急速的鼓"])
    assert [len(one) for one in found] == [1, 3, 1, 1]
    assert torch.equal(found[1], encoder.of_texts(["a quiet waltz"])[0])
    assert all(one.dtype == torch.float32 and one.shape[1] == encoder.width for one in found)
