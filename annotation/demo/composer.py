"""From a brief to a score, every note in the key and on the beat; what goes wrong is added later."""

from __future__ import annotations

import numpy as np

from annotation.demo.accompaniment import bass_notes, chord_notes, drum_notes
from annotation.demo.brief import Brief, Score
from annotation.demo.melody import Motif, draw_motif, lead_notes


def compose(brief: Brief, *, rng: np.random.Generator, motif: Motif | None = None) -> Score:
    """A piece on `motif`, or on one drawn here: the same prompt gives each system a tune of its own."""
    tune = lead_notes(brief, motif or draw_motif(brief, rng=rng), rng=rng)
    return Score(brief, (*tune, *chord_notes(brief), *bass_notes(brief), *drum_notes(brief)))


def beat_time(brief: Brief, beat: float) -> float:
    """Seconds at which `beat` falls: steady tempo, off-beat eighths delayed by the swing."""
    whole, part = divmod(beat, 1.0)
    swung = part * 2 * brief.swing if part < 0.5 else brief.swing + (part - 0.5) * 2 * (1 - brief.swing)
    return (whole + swung) * 60 / brief.bpm
