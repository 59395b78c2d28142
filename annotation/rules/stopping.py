"""When a pair needs no more votes: the chance that its majority is right.

Each vote of a pair goes to its first candidate with an unknown chance q. Before any vote every q is as likely as any
other, a Beta(1, 1) distribution, so after v and w votes for the two the chance that raters prefer the first is the
mass of Beta(1 + v, 1 + w) above one half. A vote that prefers neither (a tie, or both bad) is half a vote for each:
it makes no majority, and it speaks against a clear one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from annotation.protocols import Protocol
from annotation.rules.answers import Problem

# A threshold that counts can reach exactly (3 to 0 gives 0.9375) must not be missed by rounding.
_ROUNDING = 1e-9
MOST_VOTES = 1000


@dataclass(frozen=True)
class Stopping:
    """A study's rule. Every task gets the study's overlap of votes first; while the `question` is undecided, one more
    at a time, up to `most`. It is decided once the majority is right with a chance of `threshold`."""

    question: str
    most: int
    threshold: float = 0.9

    def is_met(self, votes: Votes) -> bool:
        return votes.certainty >= self.threshold - _ROUNDING


@dataclass(frozen=True)
class Votes:
    """The answers of a pair's raters to one question. `neither`: ties, and both bad."""

    first: int = 0
    second: int = 0
    neither: int = 0

    @property
    def certainty(self) -> float:
        """The chance that the side ahead is the one that raters prefer, 0.5 to 1."""
        return certainty(self.first, self.second, self.neither)


NAMES = tuple(field.name for field in fields(Stopping))


def settings(rules: Mapping[str, Any]) -> Stopping | None:
    """From a study's `rules`; None where every task gets the same number of votes."""
    stated = rules.get("stopping")
    return Stopping(**stated) if stated else None


def certainty(first: int, second: int, neither: int = 0) -> float:
    """The mass of Beta(1 + first + neither/2, 1 + second + neither/2) on its larger side of one half.

    From one half at even votes, each vote of the lead adds I(1/2; a, b) - I(1/2; a + 1, b) = 2^-(a+b) / (a B(a, b))
    (Abramowitz & Stegun 1964, 26.5.16).
    """
    behind = 1 + min(first, second) + neither / 2
    added = 0.0
    for vote in range(abs(first - second)):
        ahead = behind + vote
        log_beta = math.lgamma(ahead) + math.lgamma(behind) - math.lgamma(ahead + behind)
        added += math.exp(-(ahead + behind) * math.log(2) - log_beta) / ahead
    return min(1.0, 0.5 + added)


def wanted_more(rule: Stopping, votes: Votes, *, n_judgments: int) -> bool:
    """Whether a task that has all the judgments it was to get is to get one more."""
    return n_judgments < rule.most and not rule.is_met(votes)


def least_to_decide(threshold: float) -> int:
    """How many votes decide when all go to one side: the least number with 1 - 2^-(n + 1) >= threshold."""
    return max(1, math.ceil(-math.log2(1 - threshold) - 1 - 1e-9))


def eligible_questions(protocol: Protocol) -> tuple[str, ...]:
    """Questions that ask which of two is preferred; in an ABX test the right answer changes from vote to vote."""
    return tuple(asked.key for asked in protocol.questions if asked.kind == "preference" and asked.level)


def as_json(rule: Stopping | None) -> dict[str, Any]:
    """All settings; the question is empty where the rule is off."""
    return {"question": "", "most": None, "threshold": None} if rule is None else asdict(rule)


def faults(wanted: Mapping[str, Any], *, overlap: int, questions: tuple[str, ...]) -> list[Problem]:
    """Every fault of a whole rule that somebody wants, each with the name of its field."""
    found = [
        Problem(name, f"There is no such setting; there are {', '.join(NAMES)}.")
        for name in wanted
        if name not in NAMES
    ]
    if wanted.get("question") not in questions:
        known = f"Choose one of {', '.join(questions)}." if questions else "This protocol compares no pairs."
        found.append(Problem("question", known))
    threshold, most = wanted.get("threshold"), wanted.get("most")
    if not _is_number(threshold) or not 0.5 < threshold <= 0.999:
        found.append(Problem("threshold", "Give a number above 0.5, up to 0.999."))
        threshold = None
    if isinstance(most, bool) or not isinstance(most, int) or not overlap < most <= MOST_VOTES:
        text = f"Give a whole number from {overlap + 1}, one more than every task gets, to {MOST_VOTES}."
        found.append(Problem("most", text))
    elif threshold is not None and most < (needed := least_to_decide(threshold)):
        text = f"So few votes are never so certain, even if all agree: give {needed} or more, or a lower threshold."
        found.append(Problem("most", text))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
