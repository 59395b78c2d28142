from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from annotation.demo import clips, synthesis
from annotation.demo.clips import (
    SYSTEMS,
    Flaw,
    MusicSystem,
    Performance,
    Prompt,
    Sound,
    contests,
    draw_failures,
    draw_flaws,
    featured,
    load_prompts,
    perform,
)
from annotation.demo.composition import Brief, Score, beat_time, compose
from annotation.demo.raters import INSTRUMENT_NAMES, key_name
from tests.annotation.demo.conftest import rng

PROMPTS = load_prompts()
MARIMBA = PROMPTS[2].brief  # C major, 120 bpm, with a shaker
STUDIO = Sound(32000, 2, -20)


def piece() -> Score:
    return compose(MARIMBA, rng=rng())


def played(*flawed: Flaw) -> Performance:
    return perform(piece(), flaws=flawed, sound=STUDIO, rng=rng())


def out_of_key(score: Score) -> int:
    return sum(note.pitch % 12 not in MARIMBA.pitch_classes for note in score.part("lead"))


def test_a_flawless_performance_plays_the_score_as_written() -> None:
    assert played().score == piece()
    assert played().moments == {}


def test_wrong_notes_leave_the_key_where_the_moments_say_and_a_mild_case_has_fewer() -> None:
    performance = played(Flaw("wrong_notes", 1.0))
    assert out_of_key(performance.score) == len(performance.moments["wrong_notes"]) >= 4
    sour = [n.beat for n in performance.score.part("lead") if n.pitch % 12 not in MARIMBA.pitch_classes]
    assert performance.moments["wrong_notes"] == pytest.approx([beat_time(MARIMBA, beat) for beat in sour])
    assert 2 <= out_of_key(played(Flaw("wrong_notes", 0.5)).score) < out_of_key(performance.score)


def test_a_looped_bar_repeats_and_never_closes() -> None:
    score = played(Flaw("looped_bar", 1.0)).score
    by_bar = [
        sorted((n.part, n.beat % 4, n.pitch) for n in score.notes if n.beat // 4 == bar and n.beat < 12)
        for bar in range(3)
    ]
    assert by_bar[0] == by_bar[1] == by_bar[2]
    assert max(note.beats for note in score.notes) <= 4


@pytest.mark.parametrize("unsteadiness", [0.0, 1.0])
def test_only_an_unsteady_player_drifts_off_the_grid(unsteadiness: float) -> None:
    score = piece()
    starts, _, moment = clips.onsets(score, unsteadiness=unsteadiness, rng=rng())
    drift = [abs(at - beat_time(MARIMBA, note.beat)) for at, note in zip(starts, score.notes, strict=True)]
    assert (max(drift) > 0.1, len(moment)) == (bool(unsteadiness), int(unsteadiness))
    if not unsteadiness:
        assert starts == [note.beat * 0.5 for note in score.notes]  # 120 bpm, straight eighths


def test_an_abrupt_end_is_short_and_loud_to_the_last() -> None:
    whole, cut = played().pcm, played(Flaw("abrupt_end", 1.0)).pcm
    assert len(cut) == pytest.approx(0.72 * len(whole), abs=2)
    assert np.abs(whole[-32:].astype(int)).max() < 10
    assert np.abs(cut[-320:].astype(int)).max() > 100


def test_clipping_flattens_the_tops() -> None:
    def share_at_the_top(performance: Performance) -> float:
        size = np.abs(performance.pcm.astype(int))
        return float(np.mean(size >= size.max() - 1))

    assert share_at_the_top(played()) < 0.001
    assert share_at_the_top(played(Flaw("clipping", 1.0))) > 0.05


def energy_above(hertz: float, performance: Performance) -> float:
    """Share of the energy above a frequency."""
    power = np.abs(np.fft.rfft(performance.pcm.mean(axis=1))) ** 2
    frequency = np.fft.rfftfreq(len(performance.pcm), 1 / STUDIO.rate)
    return float(power[frequency > hertz].sum() / power.sum())


def test_hiss_fills_the_top_of_the_spectrum_and_a_muffled_clip_has_lost_its_treble() -> None:
    def energies(kind: str, hertz: float) -> list[float]:
        """Of a clean, a mildly and a fully damaged clip."""
        performances = played(), played(Flaw(kind, 0.5)), played(Flaw(kind, 1.0))
        return [energy_above(hertz, performance) for performance in performances]

    clean, mild, full = energies("hiss", 12000)
    assert full > 5 * clean
    assert full > mild > clean
    clean, mild, full = energies("muffled", 4000)
    assert full < mild < 0.5 * clean


def test_clicks_sound_at_their_moments() -> None:
    audio = np.zeros((2, 32000 * 4))
    audio[:, 1000] = 0.5
    clicked, moments = synthesis.click(audio, 1.0, 32000, rng())
    assert len(moments) == 10
    assert all(np.abs(clicked[0, round(at * 32000)]) > 0.3 for at in moments)


def test_moments_after_a_broken_off_end_are_not_reported() -> None:
    performance = played(Flaw("abrupt_end", 1.0), Flaw("wrong_notes", 1.0))
    seconds = len(performance.pcm) / 32000
    assert performance.moments["wrong_notes"]
    assert all(at <= seconds for moments in performance.moments.values() for at in moments)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("wrong_tempo", "bpm", 84),
        ("wrong_mode", "mode", "minor"),
        ("missing_drums", "drums", ""),
        ("wrong_instrument", "lead", "strings"),
    ],
)
def test_a_failure_changes_one_thing_the_prompt_asked_for(kind: str, field: str, value: Any) -> None:
    assert clips.failed(MARIMBA, kind) == replace(MARIMBA, **{field: value})


def test_a_missing_voice_leaves_the_tune_to_a_flute() -> None:
    song = next(prompt for prompt in PROMPTS if prompt.lyrics).brief
    failed = clips.failed(song, "missing_voice")
    assert (failed.lead, failed.syllables) == ("flute", ())


def test_every_failure_open_to_a_prompt_changes_its_brief() -> None:
    for prompt in PROMPTS:
        kinds = clips.failures_open_to(prompt.brief, with_reference=prompt.reference is not None)
        changed = [clips.failed(prompt.brief, kind) for kind in kinds if kind != "ignored_reference"]
        assert all(isinstance(brief, Brief) and brief != prompt.brief for brief in changed)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_system_s_clips_average_to_its_quality_and_adherence(system: MusicSystem) -> None:
    costs = [sum(flaw.cost for flaw in draw_flaws(system, rng=rng(seed))) for seed in range(400)]
    assert -np.mean(costs) == pytest.approx(system.quality, abs=0.15)
    costs = [
        sum(clips.FAILURE_COSTS[kind] for kind in draw_failures(system, prompt, rng=rng(seed)))
        for seed in range(40)
        for prompt in PROMPTS
    ]
    assert -np.mean(costs) == pytest.approx(system.adherence, abs=0.2)


SAID_OF = {"bell": ("bells", "music box"), "electric_piano": ("electric piano",), "pluck": ("guitar",)}


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.id)
def test_a_prompt_says_what_its_brief_asks_for(prompt: Prompt) -> None:
    text, brief = prompt.text.lower(), prompt.brief
    assert f"{brief.bpm} bpm" in text
    assert key_name(brief.tonic, brief.mode).lower() in text
    names = SAID_OF.get(featured(brief), (INSTRUMENT_NAMES[featured(brief)],))
    assert any(name in text for name in names)
    assert ("no drums" in text or "without drums" in text) == (not brief.drums)
    assert bool(prompt.lyrics) == (brief.lead == "voice")
    assert ("reference" in text) == (prompt.reference is not None)


def test_lyrics_are_shown_whole_and_sung_by_the_syllable() -> None:
    prompt = next(prompt for prompt in PROMPTS if prompt.id == "concord-19")
    assert prompt.lyrics == "River, hold the evening light,\ncarry me home tonight."
    assert prompt.brief.syllables[1] == ("car", "ry", "me", "home", "to", "night.")


def test_kinds_of_prompts_held_out_ones_and_meetings_of_systems_are_balanced() -> None:
    kinds = Counter((bool(prompt.lyrics), prompt.reference is not None) for prompt in PROMPTS)
    assert kinds == {(False, False): 15, (True, False): 4, (False, True): 3, (True, True): 2}
    assert Counter(prompt.split for prompt in PROMPTS) == {"train": 18, "test": 6}
    met = Counter(pair for _, names in contests(PROMPTS) for pair in combinations(names, 2))
    assert (met.total(), len(met)) == (48, 10)
    assert set(met.values()) <= {4, 5, 6}


def test_systems_differ_in_quality_and_in_adherence() -> None:
    by_quality = sorted(SYSTEMS, key=lambda system: -system.quality)
    by_adherence = sorted(SYSTEMS, key=lambda system: -system.adherence)
    assert [system.name for system in by_quality] == ["Aria-1", "Cadenza-S", "Brook", "Etude-XL", "Drone-0"]
    assert [system.name for system in by_adherence] == ["Aria-1", "Brook", "Etude-XL", "Cadenza-S", "Drone-0"]
