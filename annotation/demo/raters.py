"""Simulated raters of known reliability: votes, ratings and evidence drawn from a known truth.

Differences are in log-odds: a careful rater with sensitivity 1 prefers the first clip with probability
sigmoid(difference), as in Bradley and Terry (1952).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.demo.clips import Clip, Comparison, Outcome, featured
from annotation.demo.composition import TONICS
from annotation.demo.scenes import CORRECTNESS, Question
from annotation.protocols import Protocol, QuestionSpec


@dataclass(frozen=True)
class Rater:
    """`position_bias` is in log-odds towards the first clip; `severity` and `noise` are in rating points.

    `lapse` is the share of answers given without listening, `diligence` the chance to give evidence or
    to flag a problem.
    """

    name: str
    sensitivity: float
    position_bias: float
    lapse: float
    severity: float
    noise: float
    diligence: float


@dataclass(frozen=True)
class Choice:
    first: bool
    confidence: int


RATERS = (
    #               sensitivity, position_bias, lapse, severity, noise, diligence
    Rater("demo-rater-1", 2.0, 0.05, 0.00, 0.00, 0.25, 0.90),
    Rater("demo-rater-2", 1.7, 0.10, 0.00, -0.10, 0.30, 0.85),
    Rater("demo-rater-3", 1.4, 0.00, 0.02, 0.15, 0.35, 0.70),
    Rater("demo-rater-4", 1.2, 0.25, 0.02, -0.20, 0.45, 0.60),
    Rater("demo-rater-5", 1.0, 0.15, 0.05, 0.25, 0.50, 0.50),
    # The careless one: often answers without listening, and then leans on whatever came first.
    Rater("demo-rater-6", 0.4, 0.60, 0.40, 0.00, 1.00, 0.35),
)  # fmt: skip

_CARELESS_SHARE = 0.15


def draw_rater(number: int, *, seed: int) -> Rater:
    """One of many simulated raters, the same whoever else is drawn: mostly careful, and more or less so; some careless,
    who tell little apart, often answer without listening, and lean on what came first."""
    rng = np.random.default_rng([seed, number])
    careless = rng.random() < _CARELESS_SHARE
    return Rater(
        name=f"simulated-{seed}-{number:02d}",
        sensitivity=float(rng.uniform(0.3, 0.7) if careless else np.clip(rng.lognormal(0.2, 0.4), 0.5, 2.5)),
        position_bias=float(rng.normal(0.5 if careless else 0.1, 0.15)),
        lapse=float(rng.uniform(0.2, 0.5) if careless else rng.uniform(0, 0.06)),
        severity=float(rng.normal(0, 0.2)),
        noise=float(rng.uniform(0.7, 1.1) if careless else rng.uniform(0.25, 0.55)),
        diligence=float(rng.uniform(0.2, 0.5) if careless else rng.uniform(0.5, 0.95)),
    )


def probability_of_first(
    difference: float, *, sensitivity: float = 1.0, position_bias: float = 0.0, lapse: float = 0.0
) -> float:
    """Chance that the first clip is preferred, when it is `difference` better. The defaults are the truth."""
    heard = 1 / (1 + np.exp(-(sensitivity * difference + position_bias)))
    guessed = 1 / (1 + np.exp(-position_bias))
    return float((1 - lapse) * heard + lapse * guessed)


def choose(rater: Rater, *, difference: float, rng: np.random.Generator) -> Choice:
    """One vote: the sign of a noisy margin, with a confidence of 1 to 5 that grows with its size."""
    lapsed = rng.random() < rater.lapse
    margin = (0.0 if lapsed else rater.sensitivity * difference) + rater.position_bias + rng.logistic()
    confidence = int(rng.integers(2, 6)) if lapsed else 1 + round(4 * float(np.tanh(abs(margin) / 3)))
    return Choice(bool(margin > 0), confidence)


def rate(rater: Rater, *, correctness: float, rng: np.random.Generator) -> int:
    """One rating of 1 to 5: the truth, less the rater's severity, with noise; any value at all in a lapse."""
    if rng.random() < rater.lapse:
        return int(rng.integers(1, 6))
    return int(np.clip(round(correctness - rater.severity + float(rng.normal(0, rater.noise))), 1, 5))


def allocate(counts: list[int], *, rng: np.random.Generator) -> list[list[Rater]]:
    """For each unit as many different raters as its count says, those with the least work first."""
    load = dict.fromkeys(RATERS, 0)
    out = []
    for count in counts:
        order = [RATERS[int(i)] for i in rng.permutation(len(RATERS))]
        chosen = sorted(order, key=lambda rater: load[rater])[:count]
        load.update({rater: load[rater] + 1 for rater in chosen})
        out.append(chosen)
    return out


def judged_counts(units: int, *, overlap: int, rng: np.random.Generator) -> list[int]:
    """How many votes each unit has so far: half of them all that are wanted, a fifth some, the rest none."""
    done, begun = round(0.5 * units), round(0.2 * units)
    counts = [overlap] * done + [1 + i % max(1, overlap - 1) for i in range(begun)]
    counts += [0] * (units - len(counts))
    return [counts[int(i)] for i in rng.permutation(units)]


# Written evidence for a vote: every flaw it names is there, every praise is deserved.


INSTRUMENT_NAMES = {
    "pluck": "guitar", "harp": "harp", "electric_piano": "electric piano", "organ": "organ", "bell": "bells",
    "marimba": "marimba", "flute": "flute", "strings": "strings", "voice": "voice",
}  # fmt: skip
_FLAW_PHRASES: dict[str, tuple[str, ...]] = {
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
_FAILURE_PHRASES: dict[str, tuple[str, ...]] = {
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
    complaint = _failure(blamed, _pick(blamed.failures, rng), rng=rng)
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
    return _pick(_FLAW_PHRASES[worst.kind], rng).format(
        at=timestamp(moments[int(rng.integers(len(moments)))])
    )


def _failure(clip: Clip, kind: str, *, rng: np.random.Generator) -> str:
    requested, played = clip.prompt.brief, clip.performance.score.brief
    substitute = played.chords if requested.syllables else played.lead
    return _pick(_FAILURE_PHRASES[kind], rng).format(
        asked=INSTRUMENT_NAMES[featured(requested)],
        played=INSTRUMENT_NAMES[substitute],
        bpm=played.bpm,
        wanted=requested.bpm,
        speed="fast" if played.bpm > requested.bpm else "slow",
        mode=played.mode,
        key=key_name(requested.tonic, requested.mode),
    )


def key_name(tonic: int, mode: str) -> str:
    return f"{next(name for name, number in TONICS.items() if number == tonic)} {mode}"


def timestamp(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


# Imported votes on comparisons and ratings of answers.


OVERLAP = 3
_REMARKS = {
    "q": "The options are not given.",
    "r": "The reference does not match what I hear.",
    "a": "I had to listen to the recording to decide.",
    "u": "There is no way to tell.",
}


@dataclass(frozen=True)
class Vote:
    comparison: Comparison
    rater: Rater
    alignment: Choice
    musicality: Choice
    feedback: str | None


@dataclass(frozen=True)
class Rating:
    """`value` is missing where the rater could not judge; then `feedback` says why."""

    value: int | None
    feedback: list[str] | None


def vote_on(comparisons: list[Comparison], *, rng: np.random.Generator) -> list[list[Vote]]:
    """The votes of each comparison, empty where it still waits."""
    counts = judged_counts(len(comparisons), overlap=OVERLAP, rng=rng)
    raters = allocate(counts, rng=rng)
    return [[_vote(c, rater, rng=rng) for rater in who] for c, who in zip(comparisons, raters, strict=True)]


def _vote(comparison: Comparison, rater: Rater, *, rng: np.random.Generator) -> Vote:
    alignment = choose(rater, difference=comparison.alignment_difference, rng=rng)
    musicality = choose(rater, difference=comparison.musicality_difference, rng=rng)
    feedback = evidence(
        rater, comparison, aligned_first=alignment.first, musical_first=musicality.first, rng=rng
    )
    return Vote(comparison, rater, alignment, musicality, feedback)


def rate_answers(answers: list[tuple[Question, int]], *, rng: np.random.Generator) -> list[list[Rating]]:
    """The ratings of each (question, index of its answer)."""
    raters = allocate(judged_counts(len(answers), overlap=OVERLAP, rng=rng), rng=rng)
    return [
        [rating(rater, question, index, rng=rng) for rater in who]
        for (question, index), who in zip(answers, raters, strict=True)
    ]


def rating(rater: Rater, question: Question, index: int, *, rng: np.random.Generator) -> Rating:
    """A diligent rater notices a problem and judges by ear; others trust the reference."""
    noticed = bool(question.problem) and rng.random() < rater.diligence
    correctness = CORRECTNESS[index] if noticed else question.by_reference[index]
    value = rate(rater, correctness=correctness, rng=rng)
    if not noticed:
        return Rating(value, None)
    remark = [_REMARKS[question.problem]] if rng.random() < 0.3 else []
    gives_up = question.problem == "u" and rng.random() < 0.5
    return Rating(None if gives_up else value, [question.problem, *remark])


# Ballots: the answers that a browser would send about a task, sides as shown.


_FLAWS = {
    "wrong_notes": "has wrong notes",
    "unsteady": "does not keep time",
    "looped_bar": "goes round one bar for ever",
    "clipping": "is distorted",
    "clicks": "crackles",
    "hiss": "is full of hiss",
    "muffled": "sounds muffled",
    "abrupt_end": "is cut short",
}
_FAILURES = {
    "wrong_instrument": "has another instrument than the prompt asks for",
    "wrong_tempo": "misses the tempo",
    "wrong_mode": "is in the wrong mode",
    "missing_drums": "leaves out the percussion",
    "unasked_drums": "adds percussion that nobody asked for",
    "missing_voice": "has no singing",
    "ignored_reference": "ignores the reference melody",
}


@dataclass(frozen=True)
class Ballot:
    answers: list[dict[str, Any]]
    codes: tuple[str, ...] = ()
    comment: str = ""


def foreign_questions(protocol: Protocol, *, known: Sequence[str]) -> list[str]:
    """The questions that have to be answered and that no simulated rater could."""
    return [q.key for q in protocol.questions if q.required and q.key not in known]


COMPARED = ("alignment", "musicality", "evidence")
RATED = ("correctness",)


def compare(
    rater: Rater, first: Outcome, second: Outcome, *, protocol: Protocol, rng: np.random.Generator
) -> Ballot:
    """Which of two clips the rater prefers in either way, and a sentence on what they heard. `first` is shown as A."""
    choices = {
        "alignment": choose(rater, difference=first.alignment - second.alignment, rng=rng),
        "musicality": choose(rater, difference=first.musicality - second.musicality, rng=rng),
    }
    answers = [
        _preference(question, choices[question.key])
        for question in protocol.questions
        if question.key in choices
    ]
    if protocol.question("evidence") is not None:
        text = _evidence(rater, first, second, first_wins=choices["musicality"].first, rng=rng)
        answers.append({"question": "evidence", "text": text})
    return Ballot(answers)


def judge(
    rater: Rater, question: Question, index: int, *, protocol: Protocol, rng: np.random.Generator
) -> Ballot:
    """How right the rater finds an answer, and the code of a problem that they noticed."""
    rated = rating(rater, question, index, rng=rng)
    feedback = rated.feedback or []
    codes = tuple(code for word in feedback if (code := word.upper()) in protocol.code_keys)
    remarks = [word for word in feedback if word.upper() not in protocol.code_keys]
    answers = [] if rated.value is None else [{"question": "correctness", "value": rated.value}]
    return Ballot(answers, codes, " ".join(remarks) if protocol.comment else "")


def _preference(question: QuestionSpec, choice: Choice) -> dict[str, Any]:
    answer: dict[str, Any] = {"question": question.key, "choice": "A" if choice.first else "B"}
    if question.confidence is not None:
        answer["confidence"] = min(
            question.confidence.values, key=lambda value: abs(value - choice.confidence)
        )
    return answer


def _evidence(
    rater: Rater, first: Outcome, second: Outcome, *, first_wins: bool, rng: np.random.Generator
) -> str:
    """What is named is there. No moments: nobody has played these clips."""
    if rng.random() >= rater.diligence:
        return f"Sample {'A' if first_wins else 'B'} is better."
    heard = [
        f"Sample {name} {fault}." for name, fault in (("A", _fault(first)), ("B", _fault(second))) if fault
    ]
    return " ".join(heard) or "Both are clean and do what the prompt asks."


def _fault(outcome: Outcome) -> str:
    worst = max(outcome.flaws, key=lambda flaw: flaw.cost, default=None)
    heard = [_FLAWS[worst.kind]] if worst else []
    return " and ".join(heard + [_FAILURES[kind] for kind in outcome.failures[:1]])
