"""What a prompt asks for, in the terms the synthesiser controls; and the notes that answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["major", "minor"]
SCALES: dict[str, tuple[int, ...]] = {"major": (0, 2, 4, 5, 7, 9, 11), "minor": (0, 2, 3, 5, 7, 8, 10)}
TONICS = {
    "C": 0, "C sharp": 1, "D": 2, "E flat": 3, "E": 4, "F": 5,
    "F sharp": 6, "G": 7, "A flat": 8, "A": 9, "B flat": 10, "B": 11,
}  # fmt: skip
BODY_SECONDS = 6.9  # the longest body of whole bars; the closing chord follows
ENDING_SECONDS = 1.4


@dataclass(frozen=True, kw_only=True)
class Brief:
    """`progression` holds scale degrees from 1, `chords_per_bar` to a bar.

    `lead` and `chords` name instruments; the next four a manner of playing, where empty means none.
    `swing` is where the second eighth note falls in its beat: 0.5 is straight.
    `syllables` are the lines of the lyrics; empty when nothing is sung.
    """

    bpm: int
    tonic: int
    mode: Mode
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
