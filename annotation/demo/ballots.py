"""What a simulated rater sends about a task: the answers that a browser would send, sides as shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.demo import votes
from annotation.demo.clips import Outcome
from annotation.demo.raters import Choice, Rater, choose
from annotation.demo.scenes import Question
from annotation.protocols import Protocol, QuestionSpec

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
    return [asked.key for asked in protocol.questions if asked.required and asked.key not in known]


COMPARED = ("alignment", "musicality", "evidence")
RATED = ("correctness",)


def compare(
    rater: Rater, first: Outcome, second: Outcome, *, protocol: Protocol, rng: np.random.Generator
) -> Ballot:
    """Which of two clips the rater prefers in either way, and a sentence on what they heard. `first` is shown as A."""
    said = {
        "alignment": choose(rater, difference=first.alignment - second.alignment, rng=rng),
        "musicality": choose(rater, difference=first.musicality - second.musicality, rng=rng),
    }
    answers = [_preference(asked, said[asked.key]) for asked in protocol.questions if asked.key in said]
    if protocol.question("evidence") is not None:
        text = _evidence(rater, first, second, first_wins=said["musicality"].first, rng=rng)
        answers.append({"question": "evidence", "text": text})
    return Ballot(answers)


def judge(
    rater: Rater, question: Question, index: int, *, protocol: Protocol, rng: np.random.Generator
) -> Ballot:
    """How right the rater finds an answer, and the code of a problem that they noticed."""
    given = votes.rating(rater, question, index, rng=rng)
    feedback = given.feedback or []
    codes = tuple(code for word in feedback if (code := word.upper()) in protocol.code_keys)
    remarks = [word for word in feedback if word.upper() not in protocol.code_keys]
    answers = [] if given.value is None else [{"question": "correctness", "value": given.value}]
    return Ballot(answers, codes, " ".join(remarks) if protocol.comment else "")


def _preference(asked: QuestionSpec, choice: Choice) -> dict[str, Any]:
    answer: dict[str, Any] = {"question": asked.key, "choice": "A" if choice.first else "B"}
    if asked.confidence is not None:
        answer["confidence"] = min(asked.confidence.values, key=lambda value: abs(value - choice.confidence))
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
