"""Tunes: a motif of one bar, repeated in sequence over the chords, home at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.demo.brief import Brief, Note
from annotation.demo.harmony import chord_at

# Bars as lengths in beats, by melodic density and meter.
_RHYTHMS: dict[tuple[str, int], tuple[tuple[float, ...], ...]] = {
    ("sparse", 4): ((2, 2), (1.5, 0.5, 2), (2, 1, 1), (3, 1)),
    ("sparse", 3): ((2, 1), (1, 2), (1.5, 0.5, 1)),
    ("flowing", 4): ((1, 0.5, 0.5, 1, 1), (1.5, 0.5, 1, 1), (0.5, 0.5, 1, 0.5, 0.5, 1), (1, 1, 0.5, 0.5, 1)),
    ("flowing", 3): ((1, 0.5, 0.5, 1), (1, 1, 1), (1.5, 0.5, 1)),
    ("busy", 4): ((0.5,) * 6 + (1,), (0.5, 0.5, 1) * 2, (1, 0.5, 0.5, 0.5, 0.5, 1), (0.75, 0.25) * 3 + (1,)),
    ("busy", 3): ((0.5,) * 4 + (1,), (1,) + (0.5,) * 4, (0.5, 0.5, 1, 0.5, 0.5)),
}
_REGISTER = {
    "electric_piano": 67,
    "pluck": 67,
    "harp": 67,
    "bell": 76,
    "flute": 72,
    "marimba": 67,
    "strings": 64,
    "organ": 64,
    "voice": 60,
}
_LOWEST, _HIGHEST = -2, 9  # scale steps around the register's tonic


@dataclass(frozen=True)
class Motif:
    """One bar's rhythm in beats and the scale steps from each note to the next."""

    lengths: tuple[float, ...]
    moves: tuple[int, ...]


def draw_motif(brief: Brief, *, rng: np.random.Generator) -> Motif:
    choices = _RHYTHMS[brief.melody, brief.meter]
    lengths = choices[rng.integers(len(choices))]
    moves = rng.choice([-2, -1, -1, 0, 1, 1, 2], size=len(lengths) - 1)
    return Motif(lengths, tuple(int(move) for move in moves))


def lead_notes(brief: Brief, motif: Motif, *, rng: np.random.Generator) -> list[Note]:
    """The melody and its last long note, the tonic."""
    rhythm = _sung_rhythm(brief) if brief.syllables else _played_rhythm(brief, motif)
    steps = _contour(brief, motif, [beat for beat, _, _ in rhythm], rng=rng)
    base = _REGISTER[brief.lead]
    notes = [
        Note(
            "lead",
            brief.lead,
            beat,
            beats,
            brief.pitch(step, base=base),
            _accent(beat, brief.meter),
            syllable,
        )
        for (beat, beats, syllable), step in zip(rhythm, steps, strict=True)
    ]
    if brief.syllables:
        return notes
    home = brief.pitch(_nearest(steps[-1], (0, 7)), base=base)
    return [*notes, Note("lead", brief.lead, brief.body_beats, brief.ending_beats, home, 0.9)]


def _played_rhythm(brief: Brief, motif: Motif) -> list[tuple[float, float, str]]:
    starts = np.cumsum([0, *motif.lengths[:-1]])
    return [
        (bar * brief.meter + float(start), length, "")
        for bar in range(brief.bars)
        for start, length in zip(starts, motif.lengths, strict=True)
    ]


def _sung_rhythm(brief: Brief) -> list[tuple[float, float, str]]:
    """Each line takes its share of the body; eighth notes first, so that its last word can be held."""
    share = brief.body_beats / len(brief.syllables)
    out: list[tuple[float, float, str]] = []
    for i, line in enumerate(brief.syllables):
        beat, room = float(round(i * share)), round((i + 1) * share) - round(i * share)
        for j, syllable in enumerate(line):
            left = len(line) - j
            rest = room - (beat - round(i * share))
            length = rest if left == 1 else 0.5 if rest - 1 < left - 1 + 0.5 else 1.0
            out.append((beat, length, syllable))
            beat += length
    return _held_to_the_end(out, brief)


def _held_to_the_end(rhythm: list[tuple[float, float, str]], brief: Brief) -> list[tuple[float, float, str]]:
    beat, length, syllable = rhythm[-1]
    return [*rhythm[:-1], (beat, length + brief.ending_beats / 2, syllable)]


def _contour(brief: Brief, motif: Motif, beats: list[float], *, rng: np.random.Generator) -> list[int]:
    """Scale steps: chord tones where a chord begins, the motif's moves between, sometimes upside down."""
    steps: list[int] = []
    here, bar, index, sign = 4, -1, 0, 1
    for beat in beats:
        if int(beat // brief.meter) != bar:
            bar, index = int(beat // brief.meter), 0
            sign = -1 if bar % 2 == 1 and rng.random() < 0.5 else 1
        elif motif.moves:
            move = sign * motif.moves[index % len(motif.moves)]
            here += move if _LOWEST <= here + move <= _HIGHEST else -move
            index += 1
        if beat % (brief.meter / brief.chords_per_bar) == 0:
            here = _nearest(here, chord_at(brief, beat))
        steps.append(here)
    if brief.syllables:
        steps[-1] = _nearest(steps[-1], (0, 7))
    return steps


def _nearest(step: int, degrees: tuple[int, ...]) -> int:
    """The step closest to `step` with a degree among `degrees`, in any octave; the lower on a tie."""
    wanted = {degree % 7 for degree in degrees}
    return min((s for s in range(step - 4, step + 5) if s % 7 in wanted), key=lambda s: (abs(s - step), s))


def _accent(beat: float, meter: int) -> float:
    if beat % meter == 0:
        return 1.0
    return 0.88 if beat % 1 == 0 else 0.76
