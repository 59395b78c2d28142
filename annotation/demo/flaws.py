"""What can be wrong with a performance, whatever was asked: in its notes, its time or its sound.

Costs are in log-odds of being preferred on musicality, against a clip without a flaw, at strength 1.
Each function returns what it made and the moments, in beats or seconds, where a listener hears it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from annotation.demo.brief import Brief, Note, Score
from annotation.demo.composer import beat_time

Clock = Callable[[float], float]
COSTS = {
    "wrong_notes": 1.6,
    "unsteady": 1.4,
    "looped_bar": 1.2,
    "clipping": 1.5,
    "clicks": 1.0,
    "hiss": 0.9,
    "muffled": 0.8,
    "abrupt_end": 0.9,
}


@dataclass(frozen=True)
class Flaw:
    """`strength` is 1, or 0.5 for a mild case that costs half."""

    kind: str
    strength: float

    @property
    def cost(self) -> float:
        return COSTS[self.kind] * self.strength


def wrong_notes(
    score: Score, *, strength: float, rng: np.random.Generator
) -> tuple[Score, tuple[float, ...]]:
    """Push some of the melody a semitone out of key, once at least before the middle. Moments in beats."""
    lead = [i for i, note in enumerate(score.notes) if note.part == "lead"]
    early = int(rng.choice(lead[: len(lead) // 2]))
    others = [i for i in lead if i != early]
    count = max(1, round(0.35 * strength * len(lead)) - 1)
    chosen = sorted([early, *(int(i) for i in rng.choice(others, size=count, replace=False))])
    notes = list(score.notes)
    for i in chosen:
        notes[i] = replace(notes[i], pitch=_out_of_key(score.brief, notes[i].pitch))
    return replace(score, notes=tuple(notes)), tuple(notes[i].beat for i in chosen)


def _out_of_key(brief: Brief, pitch: int) -> int:
    """No scale here has three neighbouring semitones, so one of the two neighbours is outside."""
    return next(p for p in (pitch + 1, pitch - 1) if p % 12 not in brief.pitch_classes)


def looped_bar(score: Score, *, strength: float) -> tuple[Score, tuple[float, ...]]:
    """The first bar over and over, and no ending; in a mild case the melody's only. Moments in beats."""
    brief = score.brief
    stuck = {note for note in score.notes if strength == 1 or note.part == "lead"}
    length = brief.body_beats + brief.ending_beats
    copies = [
        replace(note, beat=note.beat + bar * brief.meter, beats=min(note.beats, float(brief.meter)))
        for bar in range(brief.bars + 1)
        for note in score.notes
        if note in stuck and note.beat < brief.meter
    ]
    loop = [note for note in copies if note.beat < length - 0.5]
    rest = [note for note in score.notes if note not in stuck]
    return replace(score, notes=(*loop, *rest)), (float(brief.meter),)


def clock(brief: Brief, *, unsteadiness: float, rng: np.random.Generator) -> tuple[Clock, tuple[float, ...]]:
    """The function from beats to seconds; at strength 1 the tempo sways by a third.

    The second value holds the moment, in seconds, where the tempo is furthest off.
    """
    if unsteadiness == 0:
        return partial(beat_time, brief), ()
    phase, period = rng.uniform(0, 2 * np.pi), 5.0

    def swaying(beat: float) -> float:
        sway = 0.27 * unsteadiness * (np.sin(2 * np.pi * beat / period + phase) - np.sin(phase))
        return max(0.0, beat_time(brief, beat) + float(sway) * 60 / brief.bpm)

    off = (
        beat
        for beat in np.arange(2.0, 2 + period, 0.5)
        if abs(np.cos(2 * np.pi * beat / period + phase)) > 0.8
    )
    return swaying, (swaying(float(next(off))),)


def onsets(score: Score, to_seconds: Clock, *, unsteadiness: float, rng: np.random.Generator) -> list[float]:
    """Seconds at which each note starts; an unsteady player also stumbles on single notes."""
    stumbles = rng.normal(0, 0.03, size=len(score.notes)) * unsteadiness
    return [max(0.0, to_seconds(note.beat) + float(s)) for note, s in zip(score.notes, stumbles, strict=True)]


def note_seconds(brief: Brief, note: Note) -> float:
    return note.beats * 60 / brief.bpm
