"""From a score to sound: play every note, mix, and let the flaws in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from annotation.demo import effects
from annotation.demo.brief import ENDING_SECONDS, Brief, Note, Score
from annotation.demo.drums import hit
from annotation.demo.flaws import Flaw, clock, looped_bar, note_seconds, onsets, wrong_notes
from annotation.demo.signals import Signal
from annotation.demo.timbres import note as played
from annotation.demo.voice import sung

_TAIL_SECONDS = 0.3
_LEVELS = {"lead": 0.5, "chords": 0.22, "bass": 0.42, "drums": 0.4}
# Evens out the instruments: a plucked string carries less energy than an organ pipe at the same peak.
_TRIMS = {
    "pluck": 1.6, "harp": 1.2, "marimba": 1.1, "strings": 0.6, "electric_piano": 0.6,
    "bell": 0.6, "bass": 0.6, "organ": 0.55, "flute": 0.55, "voice": 0.5,
}  # fmt: skip
_PANS = {"lead": 0.1, "chords": -0.3, "bass": 0.0, "hat": 0.4, "shaker": 0.45, "brush": -0.35, "clap": 0.2}


@dataclass(frozen=True)
class Sound:
    """How a system delivers its files: rate in Hz, channels, and its habitual RMS in dBFS."""

    rate: int
    channels: int
    level: float


@dataclass(frozen=True)
class Performance:
    """`score` is what was played, flaws included; `moments` maps a flaw to the seconds where it is heard."""

    pcm: effects.Pcm
    score: Score
    sound: Sound
    moments: dict[str, tuple[float, ...]] = field(default_factory=dict)


def perform(score: Score, *, flaws: Iterable[Flaw], sound: Sound, rng: np.random.Generator) -> Performance:
    strengths = {flaw.kind: flaw.strength for flaw in flaws}
    score, beats = _misplayed(score, strengths, rng=rng)
    unsteadiness = strengths.get("unsteady", 0.0)
    to_seconds, drift = clock(score.brief, unsteadiness=unsteadiness, rng=rng)
    starts = onsets(score, to_seconds, unsteadiness=unsteadiness, rng=rng)
    moments = {kind: tuple(to_seconds(beat) for beat in found) for kind, found in beats.items()}
    audio = effects.reverberate(_mixed(score, starts, rate=sound.rate), wet=0.22, rate=sound.rate)
    audio, heard = _damaged(audio, strengths, sound=sound, rng=rng)
    seconds = audio.shape[1] / sound.rate
    everything = moments | heard | {"unsteady": drift}
    # A piece that breaks off takes its later flaws with it.
    audible = {kind: tuple(at for at in found if at <= seconds) for kind, found in everything.items()}
    return Performance(
        effects.as_pcm(audio), score, sound, {kind: found for kind, found in audible.items() if found}
    )


def _misplayed(
    score: Score, strengths: dict[str, float], *, rng: np.random.Generator
) -> tuple[Score, dict[str, tuple[float, ...]]]:
    """The flaws of playing; their moments are in beats."""
    moments: dict[str, tuple[float, ...]] = {}
    if "looped_bar" in strengths:
        score, moments["looped_bar"] = looped_bar(score, strength=strengths["looped_bar"])
    if "wrong_notes" in strengths:
        score, moments["wrong_notes"] = wrong_notes(score, strength=strengths["wrong_notes"], rng=rng)
    return score, moments


def _mixed(score: Score, starts: list[float], *, rate: int) -> effects.Audio:
    seconds = score.brief.body_beats * 60 / score.brief.bpm + ENDING_SECONDS + _TAIL_SECONDS
    mix = np.zeros((2, round(seconds * rate)))
    for note, start in zip(score.notes, starts, strict=True):
        signal = _signal(score.brief, note, rate=rate)
        first = round(start * rate)
        room = mix[:, first : first + signal.size]
        pan = _PANS.get(note.instrument if note.part == "drums" else note.part, 0.0)
        gain = _LEVELS[note.part] * _TRIMS.get(note.instrument, 1.0) * note.velocity
        for channel, angle in enumerate(((1 - pan) * np.pi / 4, (1 + pan) * np.pi / 4)):
            room[channel] += gain * np.sin(angle) * signal[: room.shape[1]]
    return mix


def _signal(brief: Brief, note: Note, *, rate: int) -> Signal:
    if note.part == "drums":
        return hit(note.instrument, rate)
    held = round(note_seconds(brief, note), 4)
    if note.syllable:
        return sung(note.syllable, note.pitch, held, rate)
    return played(note.instrument, note.pitch, held, rate)


def _damaged(
    audio: effects.Audio, strengths: dict[str, float], *, sound: Sound, rng: np.random.Generator
) -> tuple[effects.Audio, dict[str, tuple[float, ...]]]:
    """The flaws of recording, in the order of a signal chain; then the system's channels and level."""
    moments: dict[str, tuple[float, ...]] = {}
    if "muffled" in strengths:
        audio = effects.muffle(audio, strength=strengths["muffled"], rate=sound.rate)
    if "hiss" in strengths:
        audio = effects.hiss(audio, strength=strengths["hiss"], rng=rng)
    if "clipping" in strengths:
        audio = effects.overdrive(audio, strength=strengths["clipping"])
    if "abrupt_end" in strengths:
        audio, moments["abrupt_end"] = effects.cut_short(
            audio, strength=strengths["abrupt_end"], rate=sound.rate
        )
    else:
        audio = effects.faded(audio, seconds_out=_TAIL_SECONDS, rate=sound.rate)
    if "clicks" in strengths:
        audio, moments["clicks"] = effects.click(
            audio, strength=strengths["clicks"], rate=sound.rate, rng=rng
        )
    if sound.channels == 1:
        audio = audio.mean(axis=0, keepdims=True)
    return effects.at_level(audio, decibels=sound.level), moments
