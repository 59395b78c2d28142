"""Short written evidence for a vote: every flaw it names is there, every praise is deserved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annotation.demo.brief import TONICS
from annotation.demo.clips import Clip, Comparison
from annotation.demo.failures import featured
from annotation.demo.raters import Rater

INSTRUMENT_NAMES = {
    "pluck": "guitar", "harp": "harp", "electric_piano": "electric piano", "organ": "organ", "bell": "bells",
    "marimba": "marimba", "flute": "flute", "strings": "strings", "voice": "voice",
}  # fmt: skip
_HEARD: dict[str, tuple[str, ...]] = {
    "wrong_notes": (
        "lands on a sour note at {at}", "drifts out of key around {at}", "has stray notes, one at {at}",
    ),
    "unsteady": ("speeds up and slows down around {at}", "stumbles around {at}", "loses the beat near {at}"),
    "looped_bar": ("repeats its first bar from {at} on", "goes round one bar for ever", "is stuck in a loop"),
    "clipping": ("is distorted throughout", "sounds harsh and overdriven", "clips on every loud note"),
    "clicks": ("crackles at {at}", "has clicks, the clearest at {at}", "is marred by a click at {at}"),
    "hiss": ("is covered in hiss", "has a noisy background", "sounds like a worn tape"),
    "muffled": ("sounds dull and muffled", "has no treble", "sounds as if it came through a wall"),
    "abrupt_end": ("breaks off at {at}", "stops in mid-phrase at {at}", "is cut short at {at}"),
}  # fmt: skip
_MISSED: dict[str, tuple[str, ...]] = {
    "wrong_instrument": (
        "replaces the {asked} with {played}",
        "has {played} where the prompt asks for {asked}",
    ),
    "wrong_tempo": ("runs at about {bpm} bpm instead of {wanted}", "is much too {speed} for {wanted} bpm"),
    "wrong_mode": ("is in {mode}, not {key}", "has the wrong mood: {mode} where {key} was asked for"),
    "missing_drums": ("leaves out the percussion", "has no percussion at all"),
    "unasked_drums": (
        "adds percussion that nobody asked for",
        "brings in drums although the prompt rules them out",
    ),
    "missing_voice": ("has no singing", "plays the tune on a flute and drops the words"),
    "ignored_reference": ("ignores the reference melody", "has little to do with the reference"),
}
_PRAISE: tuple[tuple[str, frozenset[str]], ...] = (
    ("keeps a steady {bpm} bpm", frozenset({"unsteady"})),
    ("holds the beat", frozenset({"unsteady"})),
    ("has a clean, balanced mix", frozenset({"clipping", "clicks", "hiss", "muffled"})),
    ("is free of noise", frozenset({"clipping", "clicks", "hiss"})),
    ("stays in key", frozenset({"wrong_notes"})),
    ("is in tune from start to finish", frozenset({"wrong_notes"})),
    ("sounds finished", frozenset({"abrupt_end", "looped_bar", "clicks", "clipping"})),
    ("comes to a proper close", frozenset({"abrupt_end", "looped_bar"})),
    ("has a melody that goes somewhere", frozenset({"looped_bar", "wrong_notes"})),
)
_COMPLAINTS = (
    "Sample {w} {c}.",
    "Against the prompt, sample {w} {c}.",
    "Sample {b} is closer to the prompt: sample {w} {c}.",
    "The prompt is better served by sample {b}, since sample {w} {c}.",
)
_CARELESS = ("{better} is better.", "I like {better} more.")


def evidence(
    rater: Rater,
    comparison: Comparison,
    *,
    aligned_first: bool,
    musical_first: bool,
    rng: np.random.Generator,
) -> str | None:
    """One to three sentences, or nothing from a rater who does not bother."""
    if rng.random() >= rater.diligence:
        return None
    if rng.random() < rater.lapse:
        return _pick(_CARELESS, rng).format(better="A" if musical_first else "B")
    sentences = [
        _musicality(comparison, musical_first, rng=rng),
        _alignment(comparison, aligned_first, rng=rng),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _musicality(comparison: Comparison, first: bool, *, rng: np.random.Generator) -> str:
    (better, praised), (worse, blamed) = _sides(comparison, first)
    if blamed.flaws:
        return f"Sample {better} {_praise(praised, rng=rng)}; sample {worse} {_worst_flaw(blamed, rng=rng)}."
    if praised.flaws:
        return f"Sample {better} {_worst_flaw(praised, rng=rng)}, but I would still rather hear it again."
    return f"Both are clean; sample {better} has the more memorable tune."


def _alignment(comparison: Comparison, first: bool, *, rng: np.random.Generator) -> str:
    (better, praised), (worse, blamed) = _sides(comparison, first)
    if not blamed.failures:
        return "" if praised.failures else "Both do what the prompt asks."
    complaint = _missed(blamed, _pick(blamed.failures, rng), rng=rng)
    if praised.failures:
        return f"Neither follows the prompt fully; sample {worse} {complaint}."
    form = _pick(_COMPLAINTS, rng)
    return form.format(w=worse, b=better, c=complaint)


def _sides(comparison: Comparison, first: bool) -> tuple[tuple[str, Clip], tuple[str, Clip]]:
    a, b = ("A", comparison.a), ("B", comparison.b)
    return (a, b) if first else (b, a)


def _praise(clip: Clip, *, rng: np.random.Generator) -> str:
    present = {flaw.kind for flaw in clip.flaws}
    deserved = [words for words, spoilt_by in _PRAISE if not spoilt_by & present]
    if not deserved:
        return "is the lesser evil"
    return _pick(deserved, rng).format(bpm=clip.performance.score.brief.bpm)


def _worst_flaw(clip: Clip, *, rng: np.random.Generator) -> str:
    worst = max(clip.flaws, key=lambda flaw: flaw.cost)
    moments = clip.performance.moments.get(worst.kind, (0.0,))
    return _pick(_HEARD[worst.kind], rng).format(at=timestamp(moments[int(rng.integers(len(moments)))]))


def _missed(clip: Clip, kind: str, *, rng: np.random.Generator) -> str:
    wanted, played = clip.prompt.brief, clip.performance.score.brief
    substitute = played.chords if wanted.syllables else played.lead
    return _pick(_MISSED[kind], rng).format(
        asked=INSTRUMENT_NAMES[featured(wanted)],
        played=INSTRUMENT_NAMES[substitute],
        bpm=played.bpm,
        wanted=wanted.bpm,
        speed="fast" if played.bpm > wanted.bpm else "slow",
        mode=played.mode,
        key=key_name(wanted.tonic, wanted.mode),
    )


def key_name(tonic: int, mode: str) -> str:
    return f"{next(name for name, number in TONICS.items() if number == tonic)} {mode}"


def timestamp(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]
