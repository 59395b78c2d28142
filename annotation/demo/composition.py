"""Music composition for the demo: from a prompt's brief to a score of melody, chords, bass and drums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SCALES: dict[str, tuple[int, ...]] = {"major": (0, 2, 4, 5, 7, 9, 11), "minor": (0, 2, 3, 5, 7, 8, 10)}
TONICS = {
    "C": 0, "C sharp": 1, "D": 2, "E flat": 3, "E": 4, "F": 5,
    "F sharp": 6, "G": 7, "A flat": 8, "A": 9, "B flat": 10, "B": 11,
}  # fmt: skip
BODY_SECONDS = 6.9  # the longest body of whole bars; the closing chord follows
ENDING_SECONDS = 1.4


@dataclass(frozen=True, kw_only=True)
class Brief:
    """What a prompt asks for, in the terms the synthesiser controls.

    `progression` holds scale degrees from 1, `chords_per_bar` to a bar.

    `lead` and `chords` name instruments; the next four a manner of playing, where empty means none.
    `swing` is where the second eighth note falls in its beat: 0.5 is straight.
    `syllables` are the lines of the lyrics; empty when nothing is sung.
    """

    bpm: int
    tonic: int
    mode: str  # of SCALES
    meter: int
    progression: tuple[int, ...]
    chords_per_bar: int
    sevenths: bool
    lead: str
    chords: str
    melody: str
    pattern: str
    bass: str
    drums: str
    swing: float
    syllables: tuple[tuple[str, ...], ...] = ()

    @property
    def bars(self) -> int:
        """Whole bars that fit; a faster piece has more of them."""
        return max(2, int(BODY_SECONDS * self.bpm / 60 / self.meter))

    @property
    def body_beats(self) -> int:
        return self.bars * self.meter

    @property
    def ending_beats(self) -> float:
        return ENDING_SECONDS * self.bpm / 60

    @property
    def pitch_classes(self) -> frozenset[int]:
        return frozenset((self.tonic + step) % 12 for step in SCALES[self.mode])

    def pitch(self, step: int, *, base: int) -> int:
        """MIDI pitch of scale step `step` (0 is the tonic) above the tonic at or over `base`."""
        root = base + (self.tonic - base) % 12
        return root + 12 * (step // 7) + SCALES[self.mode][step % 7]


@dataclass(frozen=True)
class Note:
    """Positions and lengths in beats. `part` is lead, chords, bass or drums; a drum is an instrument."""

    part: str
    instrument: str
    beat: float
    beats: float
    pitch: int
    velocity: float
    syllable: str = ""


@dataclass(frozen=True)
class Score:
    brief: Brief
    notes: tuple[Note, ...]

    def part(self, name: str) -> list[Note]:
        return [note for note in self.notes if note.part == name]


# Harmony: which chord sounds at a beat, and a close voicing for it.


def chord_at(brief: Brief, beat: float) -> tuple[int, ...]:
    """Scale degrees from 0 of the chord under `beat`; the piece ends on its tonic."""
    if beat >= brief.body_beats:
        return (0, 2, 4)
    index = int(beat // (brief.meter / brief.chords_per_bar))
    root = brief.progression[index % len(brief.progression)] - 1
    return tuple((root + third) % 7 for third in ((0, 2, 4, 6) if brief.sevenths else (0, 2, 4)))


def voicing(brief: Brief, beat: float, *, low: int) -> list[int]:
    """The chord's tones within the octave from `low`, root first; the next chord then is small steps away."""
    pitch_classes = (brief.tonic + SCALES[brief.mode][degree] for degree in chord_at(brief, beat))
    return [low + (pitch_class - low) % 12 for pitch_class in pitch_classes]


# Melody: a motif of one bar, repeated in sequence over the chords, home at the end.

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
    "electric_piano": 67, "pluck": 67, "harp": 67, "bell": 76, "flute": 72, "marimba": 67, "strings": 64,
    "organ": 64, "voice": 60,
}  # fmt: skip
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


def _lead(brief: Brief, motif: Motif, *, rng: np.random.Generator) -> list[Note]:
    """The melody and its last long note, the tonic."""
    rhythm = _sung_rhythm(brief) if brief.syllables else _played_rhythm(brief, motif)
    steps = _contour(brief, motif, [beat for beat, _, _ in rhythm], rng=rng)
    home = _nearest(steps[-1], (0, 7))
    if brief.syllables:
        steps[-1] = home
    else:
        rhythm.append((brief.body_beats, brief.ending_beats, ""))
        steps.append(home)
    base = _REGISTER[brief.lead]
    return [
        Note("lead", brief.lead, beat, beats, brief.pitch(step, base=base), _accent(brief, beat), syllable)
        for (beat, beats, syllable), step in zip(rhythm, steps, strict=True)
    ]


def _played_rhythm(brief: Brief, motif: Motif) -> list[tuple[float, float, str]]:
    starts = [float(start) for start in np.cumsum([0, *motif.lengths[:-1]])]
    bar = list(zip(starts, motif.lengths, strict=True))
    return [(i * brief.meter + start, length, "") for i in range(brief.bars) for start, length in bar]


def _sung_rhythm(brief: Brief) -> list[tuple[float, float, str]]:
    """Each line takes its share of the body; eighth notes first, so that its last word can be held."""
    share = brief.body_beats / len(brief.syllables)
    rhythm: list[tuple[float, float, str]] = []
    for i, line in enumerate(brief.syllables):
        beat, end = float(round(i * share)), round((i + 1) * share)
        for later in range(len(line) - 1, -1, -1):  # syllables of the line after this one
            length = 0.5 if end - beat - 1 < later + 0.5 else 1.0
            length = length if later else end - beat
            rhythm.append((beat, length, line[-1 - later]))
            beat += length
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
    return steps


def _nearest(step: int, degrees: tuple[int, ...]) -> int:
    """The step closest to `step` with a degree among `degrees`, in any octave; the lower on a tie."""
    allowed = {degree % 7 for degree in degrees}
    return min((s for s in range(step - 4, step + 5) if s % 7 in allowed), key=lambda s: (abs(s - step), s))


def _accent(brief: Brief, beat: float) -> float:
    if beat >= brief.body_beats:
        return 0.9
    return 1.0 if beat % brief.meter == 0 else 0.88 if beat % 1 == 0 else 0.76


# Accompaniment: chords, bass and drums by named patterns, each one bar (or one chord) repeated.

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


def _chords(brief: Brief) -> list[Note]:
    span = brief.meter / brief.chords_per_bar
    starts = [i * span for i in range(round(brief.body_beats / span))]
    notes = [note for start in starts for note in _one_chord(brief, start, span)]
    return [*notes, *_struck(brief, brief.body_beats, brief.ending_beats, 0.85)]


def _one_chord(brief: Brief, start: float, span: float) -> list[Note]:
    if brief.pattern == "held":
        return _struck(brief, start, span, 0.85)
    if brief.pattern == "arpeggio":
        tones = sorted(voicing(brief, start, low=_CHORDS_LOW))
        tones += [tone + 12 for tone in tones]
        return [
            Note("chords", brief.chords, start + beat, beats, tones[tone], 0.85 if beat % 1 else 1.0)
            for beat, beats, tone in _ARPEGGIO
            if beat < span
        ]
    offset = start % brief.meter  # strokes are written for a bar: a chord that starts inside it joins there
    hits = [
        (start - offset + beat, beats)
        for beat, beats in _STRUCK[brief.pattern]
        if offset <= beat < offset + span
    ]
    return [note for beat, beats in hits for note in _struck(brief, beat, beats, 0.8 if beat % 1 else 0.9)]


def _struck(brief: Brief, beat: float, beats: float, velocity: float) -> list[Note]:
    spread = _STRUM_SPREAD if brief.pattern == "strum" and beat < brief.body_beats else 0.0
    tones = sorted(voicing(brief, beat, low=_CHORDS_LOW))
    return [
        Note("chords", brief.chords, beat + i * spread, beats, pitch, velocity)
        for i, pitch in enumerate(tones)
    ]


def _bass(brief: Brief) -> list[Note]:
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
    low = voicing(brief, beat, low=_BASS_LOW)[0]
    steps = chord_at(brief, beat)[0] + 2 * tone
    return low if tone == 0 else brief.pitch(steps, base=low - (low - brief.tonic) % 12)


def _drums(brief: Brief) -> list[Note]:
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


def compose(brief: Brief, *, rng: np.random.Generator, motif: Motif | None = None) -> Score:
    """A piece on `motif`, or on one drawn here: the same prompt gives each system a tune of its own.

    Every note is in the key and on the beat; what goes wrong is added later.
    """
    notes = _lead(brief, motif or draw_motif(brief, rng=rng), rng=rng) + _chords(brief)
    notes += _bass(brief) if brief.bass else []
    notes += _drums(brief) if brief.drums else []
    return Score(brief, tuple(notes))


def beat_time(brief: Brief, beat: float) -> float:
    """Seconds at which `beat` falls: steady tempo, off-beat eighths delayed by the swing."""
    whole, part = divmod(beat, 1.0)
    swung = part * 2 * brief.swing if part < 0.5 else brief.swing + (part - 0.5) * 2 * (1 - brief.swing)
    return (whole + swung) * 60 / brief.bpm
