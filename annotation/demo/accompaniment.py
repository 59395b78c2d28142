"""Chords, bass and drums by named patterns, each one bar (or one chord) repeated."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.demo.brief import Brief, Note
from annotation.demo.harmony import chord_at, root, voicing

_CHORDS_LOW, _BASS_LOW = 52, 33
_STRUM_SPREAD = 0.03  # beats between neighbouring strings

# Beat in the chord, length, and an index into the voicing; past its end the voicing goes on an octave up.
_ARPEGGIO = tuple((i / 2, 1.5, tone) for i, tone in enumerate((0, 1, 2, 3, 2, 1, 0, 2)))
# Beat in the bar and length of each stroke.
_STRUCK: dict[str, tuple[tuple[float, float], ...]] = {
    "offbeat": tuple((i + 0.5, 0.3) for i in range(4)),
    "pulse": tuple((i / 2, 0.42) for i in range(8)),
    "stabs": ((0.0, 0.4), (0.75, 0.3), (1.5, 0.6), (2.5, 0.4), (3.0, 0.4)),
    "strum": ((0.0, 1.0), (1.0, 0.5), (1.5, 0.5), (2.5, 0.5), (3.0, 1.0)),
    "waltz": ((1.0, 0.7), (2.0, 0.7)),
}
# Beat in the bar, length, and 0, 1 or 2 for the chord's root, third or fifth.
_BASS: dict[str, tuple[tuple[float, float, int], ...]] = {
    "roots": ((0.0, 1.9, 0), (2.0, 1.9, 0)),
    "pulse": tuple((i / 2, 0.45, 0) for i in range(8)),
    "bounce": ((0.0, 0.8, 0), (1.5, 0.4, 0), (2.0, 0.8, 0), (3.0, 0.8, 2)),
    "walk": ((0.0, 0.95, 0), (1.0, 0.95, 1), (2.0, 0.95, 0), (3.0, 0.95, 2)),
    "deep": ((0.0, 1.3, 0), (1.5, 0.9, 0), (2.5, 0.4, 2), (3.0, 0.9, 0)),
    "waltz": ((0.0, 1.4, 0),),
}
_DRUMS: dict[str, dict[str, tuple[float, ...]]] = {
    "backbeat": {"kick": (0, 2, 2.5), "snare": (1, 3), "hat": (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5)},
    "four": {"kick": (0, 1, 2, 3), "clap": (1, 3), "hat": (0.5, 1.5, 2.5, 3.5)},
    "kicks": {"kick": (0, 1, 2, 3)},
    "halftime": {"kick": (0, 2.5), "snare": (2,), "hat": (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5)},
    "brushes": {"kick": (0,), "brush": (0, 1, 1.5, 2, 3, 3.5)},
    "march": {"snare": (0, 0.5, 1, 1.75, 2, 2.5, 3, 3.5, 3.75), "kick": (0, 2)},
    "shaker": {"shaker": tuple(i / 2 for i in range(8)), "kick": (0, 2)},
    "waltz": {"kick": (0,), "shaker": (1, 2)},
}


def chord_notes(brief: Brief) -> list[Note]:
    span = brief.meter / brief.chords_per_bar
    count = round(brief.body_beats / span)
    notes = [note for i in range(count) for note in _one_chord(brief, i * span, span)]
    return [*notes, *_held(brief, brief.body_beats, brief.ending_beats)]


def _one_chord(brief: Brief, start: float, span: float) -> list[Note]:
    if brief.pattern == "held":
        return _held(brief, start, span)
    if brief.pattern == "arpeggio":
        return list(_roll(brief, start, span))
    offset = start % brief.meter  # strokes are written for a bar: a chord that starts inside it joins there
    hits = [(beat, beats) for beat, beats in _STRUCK[brief.pattern] if offset <= beat < offset + span]
    return [note for beat, beats in hits for note in _struck(brief, start - offset + beat, beats)]


def _roll(brief: Brief, start: float, span: float) -> Iterator[Note]:
    tones = voicing(brief, start, low=_CHORDS_LOW)
    for beat, beats, tone in _ARPEGGIO:
        if beat < span:
            pitch = tones[tone % len(tones)] + 12 * (tone // len(tones))
            yield Note("chords", brief.chords, start + beat, beats, pitch, 0.85 if beat % 1 else 1.0)


def _struck(brief: Brief, beat: float, beats: float) -> list[Note]:
    spread = _STRUM_SPREAD if brief.pattern == "strum" else 0.0
    tones = voicing(brief, beat, low=_CHORDS_LOW)
    return [
        Note("chords", brief.chords, beat + i * spread, beats, pitch, 0.8 if beat % 1 else 0.9)
        for i, pitch in enumerate(tones)
    ]


def _held(brief: Brief, beat: float, beats: float) -> list[Note]:
    tones = voicing(brief, beat, low=_CHORDS_LOW)
    return [Note("chords", brief.chords, beat, beats, pitch, 0.85) for pitch in tones]


def bass_notes(brief: Brief) -> list[Note]:
    if not brief.bass:
        return []
    line = [
        (bar * brief.meter + beat, beats, tone)
        for bar in range(brief.bars)
        for beat, beats, tone in _BASS[brief.bass]
        if beat < brief.meter
    ]
    line.append((brief.body_beats, brief.ending_beats, 0))
    return [
        Note("bass", "bass", beat, beats, _bass_pitch(brief, beat, tone), 0.9) for beat, beats, tone in line
    ]


def _bass_pitch(brief: Brief, beat: float, tone: int) -> int:
    """The chord's root, third or fifth, upwards from the root."""
    low = root(brief, beat, low=_BASS_LOW)
    degrees = chord_at(brief, beat)
    return low if tone == 0 else brief.pitch(degrees[0] + 2 * tone, base=low - (low - brief.tonic) % 12)


def drum_notes(brief: Brief) -> list[Note]:
    if not brief.drums:
        return []
    pattern = _DRUMS[brief.drums]
    notes = [
        Note("drums", drum, bar * brief.meter + beat, 0.25, 0, 1.0 if beat % 1 == 0 else 0.7)
        for bar in range(brief.bars)
        for drum, beats in pattern.items()
        for beat in beats
        if beat < brief.meter
    ]
    last = "kick" if "kick" in pattern else next(iter(pattern))
    return [*notes, Note("drums", last, brief.body_beats, 0.25, 0, 1.0)]
