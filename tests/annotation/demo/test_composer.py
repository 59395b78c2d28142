from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from annotation.demo.clips import Sound, load_prompts, perform
from annotation.demo.composition import Brief, Motif, beat_time, compose, draw_motif
from annotation.demo.synthesis import Pcm
from tests.annotation.demo.conftest import rng

BRIEFS = {prompt.id: prompt.brief for prompt in load_prompts()}
STUDIO = Sound(32000, 2, -20)


@pytest.mark.parametrize("brief", BRIEFS.values(), ids=BRIEFS.keys())
def test_a_piece_is_in_key_has_the_parts_of_its_brief_and_ends_in_time(brief: Brief) -> None:
    score = compose(brief, rng=rng())
    assert {note.pitch % 12 for note in score.notes if note.part != "drums"} <= brief.pitch_classes
    optional = {name for name in ("bass", "drums") if getattr(brief, name)}
    assert {note.part for note in score.notes} == {"lead", "chords"} | optional
    assert 6.0 <= beat_time(brief, brief.body_beats) + 1.4 <= 8.6
    assert max(note.beat for note in score.notes) == brief.body_beats
    motif: Motif = draw_motif(brief, rng=rng())
    assert sum(motif.lengths) == brief.meter


def test_the_last_chord_is_the_tonic() -> None:
    brief = BRIEFS["concord-01"]
    last = [note for note in compose(brief, rng=rng()).part("chords") if note.beat == brief.body_beats]
    assert {note.pitch % 12 for note in last} == {7, 11, 2}  # G, B, D


def test_the_lyrics_are_sung_in_order_and_do_not_overlap() -> None:
    brief = BRIEFS["concord-21"]
    sung = compose(brief, rng=rng()).part("lead")
    assert [note.syllable for note in sung] == [s for line in brief.syllables for s in line]
    assert all(a.beat + a.beats <= b.beat for a, b in pairwise(sung))


def test_a_shared_motif_gives_a_shared_first_bar() -> None:
    brief = BRIEFS["concord-17"]
    motif = draw_motif(brief, rng=rng())

    def opening(seed: int) -> list[tuple[float, int]]:
        lead = compose(brief, rng=np.random.default_rng(seed), motif=motif).part("lead")
        return [(note.beat, note.pitch) for note in lead if note.beat < brief.meter]

    assert opening(1) == opening(2)


def test_swing_delays_only_the_off_beats() -> None:
    brief = BRIEFS["concord-02"]  # 76 bpm, swing 0.58
    beat = 60 / 76
    assert beat_time(brief, 3) == pytest.approx(3 * beat)
    assert beat_time(brief, 3.5) == pytest.approx(3.58 * beat)


@pytest.mark.parametrize("prompt", ["concord-06", "concord-14", "concord-03"])
def test_the_drums_are_heard_at_the_tempo_asked_for(prompt: str) -> None:
    brief = BRIEFS[prompt]
    performance, beat = perform(compose(brief, rng=rng()), flaws=(), sound=STUDIO, rng=rng()), 60 / brief.bpm
    assert heard_period(performance.pcm, rate=32000, near=beat) == pytest.approx(beat, rel=0.02)


def heard_period(pcm: Pcm, *, rate: int, near: float) -> float:
    """The strongest period of the energy's rises, within 30 % of `near`, in seconds."""
    hop = rate // 200
    energy = np.add.reduceat(np.mean(pcm.astype(float), axis=1) ** 2, np.arange(0, len(pcm), hop))
    rises = np.maximum(np.diff(np.log(energy + 1e3)), 0)
    rises -= rises.mean()
    lags = np.arange(int(near * 0.7 * 200), int(near * 1.3 * 200) + 1)
    strength = [float(np.dot(rises[:-lag], rises[lag:])) / (len(rises) - lag) for lag in lags]
    return float(lags[int(np.argmax(strength))]) / 200
