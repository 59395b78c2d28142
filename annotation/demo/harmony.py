"""Chords of a brief: which one sounds at a beat, and a close voicing for it."""

from __future__ import annotations

from annotation.demo.brief import SCALES, Brief


def chord_at(brief: Brief, beat: float) -> tuple[int, ...]:
    """Scale degrees from 0 of the chord under `beat`; the piece ends on its tonic."""
    if beat >= brief.body_beats:
        root, sevenths = 0, False
    else:
        index = int(beat // (brief.meter / brief.chords_per_bar))
        root, sevenths = brief.progression[index % len(brief.progression)] - 1, brief.sevenths
    return tuple((root + third) % 7 for third in ((0, 2, 4, 6) if sevenths else (0, 2, 4)))


def voicing(brief: Brief, beat: float, *, low: int) -> list[int]:
    """The chord's tones within the octave from `low`: neighbouring chords then move by small steps."""
    return sorted(
        low + (pitch_class - low) % 12 for pitch_class in _pitch_classes(brief, chord_at(brief, beat))
    )


def root(brief: Brief, beat: float, *, low: int) -> int:
    return low + (_pitch_classes(brief, chord_at(brief, beat)[:1])[0] - low) % 12


def _pitch_classes(brief: Brief, degrees: tuple[int, ...]) -> list[int]:
    return [(brief.tonic + SCALES[brief.mode][degree]) % 12 for degree in degrees]
