"""The music half's clips: which flaws and failures each system's answer has, and the answer composed and played."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations, cycle
from pathlib import Path
from typing import Any

import numpy as np

from annotation.demo.composition import (
    ENDING_SECONDS,
    TONICS,
    Brief,
    Motif,
    Note,
    Score,
    beat_time,
    compose,
    draw_motif,
)
from annotation.demo.synthesis import DAMAGES, Audio, Moments, Pcm, Signal, as_pcm, fade_out, hit, note

# Flaws: what can be wrong with a performance, whatever was asked: in its notes, its time or its sound. Costs are in
# log-odds of being preferred on musicality, against a clip without a flaw, at strength 1.

FLAW_COSTS = {
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
        return FLAW_COSTS[self.kind] * self.strength


def wrong_notes(score: Score, strength: float, rng: np.random.Generator) -> tuple[Score, list[float]]:
    """Push some of the melody a semitone out of key, one note at least before the middle. Moments in beats."""
    lead = [i for i, note in enumerate(score.notes) if note.part == "lead"]
    early = int(rng.choice(lead[: len(lead) // 2]))
    others = [i for i in lead if i != early]
    count = max(1, round(0.35 * strength * len(lead)) - 1)
    chosen = sorted([early, *(int(i) for i in rng.choice(others, size=count, replace=False))])
    notes = list(score.notes)
    for i in chosen:
        notes[i] = replace(notes[i], pitch=_out_of_key(score.brief, notes[i].pitch))
    return replace(score, notes=tuple(notes)), [notes[i].beat for i in chosen]


def _out_of_key(brief: Brief, pitch: int) -> int:
    """No scale here has three neighbouring semitones, so one of the two neighbours is outside."""
    return next(p for p in (pitch + 1, pitch - 1) if p % 12 not in brief.pitch_classes)


def looped_bar(score: Score, strength: float, rng: np.random.Generator) -> tuple[Score, list[float]]:
    """The first bar over and over, and no ending; in a mild case the melody's only. Moments in beats."""
    brief = score.brief
    stuck = {note for note in score.notes if strength == 1 or note.part == "lead"}
    end = brief.body_beats + brief.ending_beats - 0.5
    loop = [
        replace(note, beat=note.beat + start, beats=min(note.beats, float(brief.meter)))
        for start in range(0, (brief.bars + 1) * brief.meter, brief.meter)
        for note in score.notes
        if note in stuck and note.beat < brief.meter and note.beat + start < end
    ]
    others = [note for note in score.notes if note not in stuck]
    return replace(score, notes=(*loop, *others)), [float(brief.meter)]


def onsets(
    score: Score, *, unsteadiness: float, rng: np.random.Generator
) -> tuple[list[float], Callable[[float], float], Moments]:
    """Seconds at which each note starts, the function from beats to seconds, and where the tempo is furthest off.

    At strength 1 the tempo of an unsteady player sways by a third, and they stumble on single notes.
    """
    phase = rng.uniform(0, 2 * np.pi) if unsteadiness else 0.0
    period = 5.0  # beats

    def to_seconds(beat: float) -> float:
        sway = 0.27 * unsteadiness * (np.sin(2 * np.pi * beat / period + phase) - np.sin(phase))
        return max(0.0, beat_time(score.brief, beat) + float(sway) * 60 / score.brief.bpm)

    off = [
        to_seconds(float(beat))
        for beat in np.arange(2.0, 2 + period, 0.5)
        if abs(np.cos(2 * np.pi * beat / period + phase)) > 0.8
    ]
    stumbles = rng.normal(0, 0.03, size=len(score.notes)) * unsteadiness
    starts = [max(0.0, to_seconds(n.beat) + float(s)) for n, s in zip(score.notes, stumbles, strict=True)]
    return starts, to_seconds, tuple(off[:1]) if unsteadiness else ()


# Performance: every note of a score played and mixed, with the flaws.


_TAIL_SECONDS = 0.3
_LEVELS = {"lead": 0.5, "chords": 0.22, "bass": 0.42, "drums": 0.26}
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

    pcm: Pcm
    score: Score
    sound: Sound
    moments: dict[str, tuple[float, ...]] = field(default_factory=dict)


def perform(score: Score, *, flaws: Iterable[Flaw], sound: Sound, rng: np.random.Generator) -> Performance:
    strengths = {flaw.kind: flaw.strength for flaw in flaws}
    beats = {}
    for kind, misplay in (("looped_bar", looped_bar), ("wrong_notes", wrong_notes)):
        if kind in strengths:
            score, beats[kind] = misplay(score, strengths[kind], rng)
    starts, to_seconds, drift = onsets(score, unsteadiness=strengths.get("unsteady", 0.0), rng=rng)
    moments = {kind: tuple(to_seconds(beat) for beat in played) for kind, played in beats.items()}
    moments["unsteady"] = drift
    audio = _mixed(score, starts, rate=sound.rate)
    for kind, damage in DAMAGES.items():
        if kind in strengths:
            audio, moments[kind] = damage(audio, strengths[kind], sound.rate, rng)
    if "abrupt_end" not in strengths:
        audio = fade_out(audio, seconds=_TAIL_SECONDS, rate=sound.rate)
    # A piece that breaks off takes its later flaws with it.
    seconds = audio.shape[1] / sound.rate
    audible = {kind: tuple(at for at in times if at <= seconds) for kind, times in moments.items()}
    if sound.channels == 1:
        audio = audio.mean(axis=0, keepdims=True)
    pcm = as_pcm(audio, decibels=sound.level)
    return Performance(pcm, score, sound, {kind: times for kind, times in audible.items() if times})


def _mixed(score: Score, starts: list[float], *, rate: int) -> Audio:
    seconds = score.brief.body_beats * 60 / score.brief.bpm + ENDING_SECONDS + _TAIL_SECONDS
    mix = np.zeros((2, round(seconds * rate)))
    for played, start in zip(score.notes, starts, strict=True):
        signal = _signal(score.brief, played, rate=rate)
        first = round(start * rate)
        room = mix[:, first : first + signal.size]
        pan = _PANS.get(played.instrument if played.part == "drums" else played.part, 0.0)
        gain = _LEVELS[played.part] * _TRIMS.get(played.instrument, 1.0) * played.velocity
        for channel, angle in enumerate(((1 - pan) * np.pi / 4, (1 + pan) * np.pi / 4)):
            room[channel] += gain * np.sin(angle) * signal[: room.shape[1]]
    return mix


def _signal(brief: Brief, played: Note, *, rate: int) -> Signal:
    if played.part == "drums":
        return hit(played.instrument, rate)
    held = round(played.beats * 60 / brief.bpm, 4)
    return note(played.instrument, played.pitch, held, rate, played.syllable)


# The prompts, the systems that answered them, and which systems are compared.


_PROMPTS = Path(__file__).with_name("prompts.toml")
_DEFAULTS: dict[str, Any] = {
    "meter": 4,
    "chords_per_bar": 2,
    "sevenths": False,
    "bass": "",
    "drums": "",
    "swing": 0.5,
}
_TEST_EVERY = 4  # every fourth prompt is held out, with all of its comparisons


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """`reference` is the brief of the reference clip; it shares its melody with the clips that follow it."""

    id: str
    text: str
    lyrics: str
    brief: Brief
    reference: Brief | None
    split: str


@dataclass(frozen=True, kw_only=True)
class MusicSystem:
    """`quality` and `adherence` are log-odds of being preferred, 0 for a system that never errs.

    `weaknesses` are the flaws it tends to, the likeliest first; so are the `misunderstandings`.
    """

    name: str
    quality: float
    adherence: float
    sound: Sound
    weaknesses: tuple[str, ...]
    misunderstandings: tuple[str, ...]


_REQUESTS = ("wrong_tempo", "wrong_instrument", "missing_drums", "unasked_drums", "wrong_mode")
SYSTEMS = (
    MusicSystem(
        name="Aria-1", quality=-0.2, adherence=-0.3, sound=Sound(32000, 2, -19),
        weaknesses=("clicks", "muffled"), misunderstandings=("wrong_mode", "missing_drums", "unasked_drums"),
    ),
    MusicSystem(
        name="Brook", quality=-1.2, adherence=-0.5, sound=Sound(32000, 2, -21),
        weaknesses=("muffled", "unsteady", "abrupt_end"), misunderstandings=("wrong_mode", "wrong_tempo"),
    ),
    MusicSystem(
        name="Cadenza-S", quality=-0.6, adherence=-1.8, sound=Sound(48000, 1, -17),
        weaknesses=("abrupt_end", "clicks", "hiss"),
        misunderstandings=("ignored_reference", "missing_voice", *_REQUESTS),
    ),
    MusicSystem(
        name="Drone-0", quality=-3.4, adherence=-2.7, sound=Sound(32000, 1, -15),
        weaknesses=("looped_bar", "clipping", "hiss", "wrong_notes", "abrupt_end", "unsteady"),
        misunderstandings=("missing_voice", "ignored_reference", *_REQUESTS),
    ),
    MusicSystem(
        name="Etude-XL", quality=-2.1, adherence=-1.2, sound=Sound(32000, 2, -23),
        weaknesses=("wrong_notes", "unsteady", "hiss", "clicks"),
        misunderstandings=("wrong_tempo", "unasked_drums", "missing_drums", "wrong_instrument"),
    ),
)  # fmt: skip


def load_prompts() -> tuple[Prompt, ...]:
    rows = tomllib.loads(_PROMPTS.read_text(encoding="utf-8"))["prompt"]
    return tuple(_prompt(number, row) for number, row in enumerate(rows, start=1))


def _prompt(number: int, row: dict[str, Any]) -> Prompt:
    tonic, mode = row["key"].rsplit(" ", 1)
    lines = row.get("lyrics", [])
    fields = {key: row[key] for key in row.keys() - {"text", "key", "lyrics", "reference", "progression"}}
    brief = Brief(
        tonic=TONICS[tonic],
        mode=mode,
        progression=tuple(row["progression"]),
        syllables=tuple(tuple(line.replace("·", " ").split()) for line in lines),
        **(_DEFAULTS | fields),
    )
    return Prompt(
        id=f"concord-{number:02d}",
        text=row["text"],
        lyrics="\n".join(line.replace("·", "") for line in lines),
        brief=brief,
        reference=_reference(brief, row["reference"]) if "reference" in row else None,
        split="train" if number % _TEST_EVERY else "test",
    )


def _reference(brief: Brief, instrument: str) -> Brief:
    """The melody over quiet held strings: enough to know the tune, not the arrangement."""
    plain = replace(brief, chords="strings", pattern="held", bass="", drums="", sevenths=False, swing=0.5)
    return replace(plain, lead=instrument, syllables=())


def contests(prompts: tuple[Prompt, ...]) -> list[tuple[Prompt, tuple[str, ...]]]:
    """The systems that answer each prompt: three, then two, in turn. All of a prompt's systems are compared.

    The trios go round all ten; the duels even out how often each pair of systems meets.
    """
    names = [system.name for system in SYSTEMS]
    trios = cycle(combinations(names, 3))
    met: Counter[tuple[str, ...]] = Counter(dict.fromkeys(combinations(names, 2), 0))
    out: list[tuple[Prompt, tuple[str, ...]]] = []
    for i, prompt in enumerate(prompts):
        group = next(trios) if i % 2 == 0 else min(met, key=lambda pair: met[pair])
        met.update(combinations(group, 2))
        out.append((prompt, group))
    return out


# Ways of not doing what the prompt asked. Each turns the brief into another brief, then played faithfully.
# Costs are in log-odds of being preferred on alignment, against a clip that follows the prompt.


FAILURE_COSTS = {
    "wrong_instrument": 1.6,
    "wrong_tempo": 1.4,
    "wrong_mode": 1.2,
    "missing_drums": 1.2,
    "unasked_drums": 1.2,
    "missing_voice": 1.8,
    "ignored_reference": 1.4,
}
# The replacement is chosen to be heard at once: struck for bowed, sustained for plucked.
SUBSTITUTES = {
    "pluck": "organ",
    "harp": "organ",
    "electric_piano": "bell",
    "organ": "pluck",
    "bell": "organ",
    "marimba": "strings",
    "flute": "electric_piano",
    "strings": "marimba",
}
TOO_SLOW, TOO_FAST = 0.7, 1.4


def failures_open_to(brief: Brief, *, with_reference: bool) -> list[str]:
    """The failures that this brief leaves room for."""
    kinds = ["wrong_instrument", "wrong_tempo", "wrong_mode"]
    kinds.append("missing_drums" if brief.drums else "unasked_drums")
    if brief.syllables:
        kinds.append("missing_voice")
    if with_reference:
        kinds.append("ignored_reference")
    return kinds


def failed(brief: Brief, kind: str) -> Brief:
    """The brief as misunderstood. An ignored reference leaves it alone: another melody is drawn."""
    return _FAILURES[kind](brief)


def featured(brief: Brief) -> str:
    """The instrument that the prompt is about: the lead, or what accompanies the voice."""
    return brief.chords if brief.syllables else brief.lead


def wrong_bpm(brief: Brief) -> int:
    return round(brief.bpm * (TOO_SLOW if brief.bpm >= 100 else TOO_FAST))


def _wrong_instrument(brief: Brief) -> Brief:
    named = featured(brief)
    other = SUBSTITUTES[named]
    lead = other if brief.lead == named else brief.lead
    return replace(brief, lead=lead, chords=other if brief.chords == named else brief.chords)


def _missing_voice(brief: Brief) -> Brief:
    return replace(brief, lead="flute", syllables=())


_FAILURES: dict[str, Callable[[Brief], Brief]] = {
    "wrong_instrument": _wrong_instrument,
    "wrong_tempo": lambda brief: replace(brief, bpm=wrong_bpm(brief)),
    "wrong_mode": lambda brief: replace(brief, mode="minor" if brief.mode == "major" else "major"),
    "missing_drums": lambda brief: replace(brief, drums=""),
    "unasked_drums": lambda brief: replace(brief, drums="backbeat" if brief.meter == 4 else "waltz"),
    "missing_voice": _missing_voice,
    "ignored_reference": lambda brief: brief,
}


_REFERENCE_SOUND = Sound(32000, 1, -20)
_SPREAD = 0.3  # of a clip around its system, in log-odds


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What went wrong in one answer decides its true musicality and alignment, in log-odds, 0 at best."""

    prompt: Prompt
    system: MusicSystem
    flaws: tuple[Flaw, ...]
    failures: tuple[str, ...]

    @property
    def musicality(self) -> float:
        return -sum(flaw.cost for flaw in self.flaws)

    @property
    def alignment(self) -> float:
        return -sum(FAILURE_COSTS[kind] for kind in self.failures)


@dataclass(frozen=True, kw_only=True)
class Clip(Outcome):
    """An answer that was played."""

    performance: Performance = field(repr=False, compare=False)

    @property
    def file_name(self) -> str:
        return f"{self.prompt.id}-{self.system.name.lower()}.wav"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two clips of one prompt; `a` is heard first."""

    a: Clip
    b: Clip

    @property
    def prompt(self) -> Prompt:
        return self.a.prompt

    @property
    def id(self) -> str:
        return f"{self.prompt.id}/{self.a.system.name}/{self.b.system.name}"

    @property
    def alignment_difference(self) -> float:
        return self.a.alignment - self.b.alignment

    @property
    def musicality_difference(self) -> float:
        return self.a.musicality - self.b.musicality


def make_comparisons(prompts: tuple[Prompt, ...], *, seed: int) -> list[Comparison]:
    systems = {system.name: system for system in SYSTEMS}
    out = []
    for prompt, names in contests(prompts):
        clips = [make_clip(prompt, systems[name], seed=seed) for name in names]
        for pair in combinations(clips, 2):
            order = _rng(seed, prompt, *(clip.system.name for clip in pair)).permutation(2)
            out.append(Comparison(a=pair[int(order[0])], b=pair[int(order[1])]))
    return out


def make_clip(prompt: Prompt, system: MusicSystem, *, seed: int) -> Clip:
    rng = _rng(seed, prompt, system.name)
    drawn = _draw_outcome(prompt, system, rng=rng)
    brief = prompt.brief
    for kind in drawn.failures:
        brief = failed(brief, kind)
    follows_reference = prompt.reference and "ignored_reference" not in drawn.failures
    motif = _motif(prompt, seed=seed) if follows_reference else None
    score = compose(brief, rng=rng, motif=motif)
    performance = perform(score, flaws=drawn.flaws, sound=system.sound, rng=rng)
    return Clip(
        prompt=prompt, system=system, flaws=drawn.flaws, failures=drawn.failures, performance=performance
    )


def draw_outcome(prompt: Prompt, system: MusicSystem, *, seed: int) -> Outcome:
    """What is wrong with the clip that `make_clip` makes, without making it."""
    return _draw_outcome(prompt, system, rng=_rng(seed, prompt, system.name))


def _draw_outcome(prompt: Prompt, system: MusicSystem, *, rng: np.random.Generator) -> Outcome:
    flawed = draw_flaws(system, rng=rng)
    failed = draw_failures(system, prompt, rng=rng)
    return Outcome(prompt=prompt, system=system, flaws=flawed, failures=failed)


def make_reference(prompt: Prompt, *, seed: int) -> Performance | None:
    if prompt.reference is None:
        return None
    rng = _rng(seed, prompt, "reference")
    score = compose(prompt.reference, rng=rng, motif=_motif(prompt, seed=seed))
    return perform(score, flaws=(), sound=_REFERENCE_SOUND, rng=rng)


def draw_flaws(system: MusicSystem, *, rng: np.random.Generator) -> tuple[Flaw, ...]:
    """Flaws whose costs sum, on average, to what the system falls short of perfect."""
    left = max(0.0, -system.quality + float(rng.normal(0, _SPREAD)))
    drawn: list[Flaw] = []
    for kind in (system.weaknesses[int(i)] for i in rng.permutation(len(system.weaknesses))):
        cost = FLAW_COSTS[kind]
        if left < cost:
            return (*drawn, *_last_flaw(kind, share=left / cost, rng=rng))
        drawn.append(Flaw(kind, 1.0))
        left -= cost
    return tuple(drawn)


def _last_flaw(kind: str, *, share: float, rng: np.random.Generator) -> Iterable[Flaw]:
    """None, mild or full, so that the expected strength is `share`."""
    steps = int(share >= 0.5) + int(rng.random() < share * 2 % 1)
    return [Flaw(kind, steps / 2)] if steps else []


def draw_failures(system: MusicSystem, prompt: Prompt, *, rng: np.random.Generator) -> tuple[str, ...]:
    """As for flaws, among the failures that the prompt leaves room for; a failure is never mild."""
    possible = failures_open_to(prompt.brief, with_reference=prompt.reference is not None)
    kinds = [kind for kind in system.misunderstandings if kind in possible]
    left = max(0.0, -system.adherence + float(rng.normal(0, _SPREAD)))
    drawn: list[str] = []
    for kind in (kinds[int(i)] for i in rng.permutation(len(kinds))):
        cost = FAILURE_COSTS[kind]
        if rng.random() >= left / cost:
            break
        drawn.append(kind)
        left -= cost
    return tuple(kind for kind in FAILURE_COSTS if kind in drawn)


def _motif(prompt: Prompt, *, seed: int) -> Motif:
    return draw_motif(prompt.brief, rng=_rng(seed, prompt, "motif"))


def _rng(seed: int, prompt: Prompt, *names: str) -> np.random.Generator:
    """A stream of its own for each thing made, so that adding one changes no other."""
    return np.random.default_rng([seed, *"/".join((prompt.id, *names)).encode()])
