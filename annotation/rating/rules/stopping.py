"""Sequential stopping: when a pair needs no more votes, by the probability that its majority is right.

Each vote of a pair goes to its first candidate with an unknown chance q. Before any vote every q is as likely as any
other, a Beta(1, 1) distribution, so after v and w votes for the two the chance that raters prefer the first is the
mass of Beta(1 + v, 1 + w) above one half. A vote that prefers neither (a tie, or both bad) is half a vote for each:
it makes no majority, and it speaks against a clear one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.errors import FieldProblem
from annotation.protocols import Protocol
from annotation.rating.rules.exclusions import TaskPlaces
from annotation.studies.settings import all_values, from_stored, setting, validate
from annotation.studies.settings import gettext_noop as _

# A threshold that counts can reach exactly (3 to 0 gives 0.9375) must not be missed by rounding.
_ROUNDING = 1e-9
MAX_THRESHOLD = 0.999
# In a study's `rules`: the rule by which a task was last given a place.
LAST_RULE_KEY = "stopping_gave"


@dataclass(frozen=True)
class Stopping:
    """A study's rule. Every task gets the study's overlap of votes first; while the `question` is undecided, one more
    at a time, up to `most`. It is decided once the majority is right with a chance of `threshold`."""

    question: str = setting(
        "",
        label=_("Ask for more votes while this is undecided"),
        description="Whose votes decide; empty for no stopping.",
        max_length=40,
    )
    threshold: float = setting(
        0.9,
        label=_("Certainty that decides, in %"),
        help_text=_(
            "The chance that the majority is right. With 90 %, three votes of three decide, five of six, or six of "
            "eight; a vote for neither is half a vote for each."
        ),
        least=math.nextafter(0.5, 1),
        most=MAX_THRESHOLD,
        percent=True,
        message="Give a number above 0.5, up to {most}.",
    )
    # Stored with every rule that is in force; None only where there never was one.
    most: int = setting(
        None,
        label=_("Votes that a pair gets at most"),
        least=2,
        most=1000,
        message="Give a whole number from {least}, one more than every task gets, to {most}.",
    )

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
        return majority_certainty(self.first, self.second, self.neither)


def settings(rules: Mapping[str, Any]) -> Stopping | None:
    """From a study's `rules`; None where every task gets the same number of votes."""
    stored = rules.get("stopping", {})
    return from_stored(Stopping, stored) if stored.get("question") else None


def adaptive_rule(rules: Mapping[str, Any]) -> Stopping | None:
    """The rule by which tasks were given places beside their first ones: the one in force or, once it is switched off,
    the last that gave any. None where none ever did: a rule that never asked for a vote changes no figure."""
    given_by = rules.get(LAST_RULE_KEY)
    return None if given_by is None else settings(rules) or Stopping(**given_by)


def first_votes(rules: Mapping[str, Any], *, overlap: int) -> int | None:
    """How many votes of each task did not depend on what others had said; None where none depends on it."""
    return None if adaptive_rule(rules) is None else overlap


def majority_certainty(first: int, second: int, neither: int = 0) -> float:
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


def places_to_add(
    rule: Stopping | None, votes: Votes, places: TaskPlaces, *, added: int, overlap: int
) -> int:
    """How many places a task needs beside those it has; negative where some of the `added` ones are not needed.

    The first places (what others gave the task and, under a rule, the study's `overlap` where that is more) always
    stay. Once they are filled, there is one open place while the votes leave the task undecided, and none afterwards;
    live leases keep theirs.
    """
    first, n = max(places.overlap - added, overlap if rule else 0), places.n_judgments
    ends = rule is None or n < first or n >= rule.most or rule.is_met(votes)
    return max(first, n if ends else n + 1, n + places.n_leases) - places.overlap


def min_votes_to_decide(threshold: float) -> int:
    """How many votes decide when all go to one side: the least number with 1 - 2^-(n + 1) >= threshold."""
    return max(1, math.ceil(-math.log2(1 - threshold) - 1 - 1e-9))


def eligible_questions(protocol: Protocol) -> tuple[str, ...]:
    """Questions that ask which of two is preferred; in an ABX test the right answer changes from vote to vote."""
    return tuple(spec.key for spec in protocol.questions if spec.kind == "preference" and spec.level)


def as_json(rules: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a study's `rules`; the question is empty where the rule is off."""
    return all_values(Stopping, rules.get("stopping", {}))


def validate_stopping(
    values: Mapping[str, Any], *, overlap: int, questions: Sequence[str]
) -> list[FieldProblem]:
    """The problems of a whole rule, each with the name of its setting. A rule that is switched off (no question) needs
    no `most`."""
    values = dict(values)
    if values["question"]:
        values.setdefault("most", None)
    elif values.get("most") is None:
        values.pop("most", None)
    problems = validate(Stopping, values, most={"least": overlap + 1})
    if values["question"] and values["question"] not in questions:
        message = (
            f"Choose one of {', '.join(questions)}." if questions else "This protocol compares no pairs."
        )
        problems.append(FieldProblem("question", message))
    invalid = {problem.field for problem in problems}
    if "most" in values and invalid.isdisjoint({"most", "threshold"}):
        needed = min_votes_to_decide(values["threshold"])
        if values["most"] < needed:
            text = f"So few votes are never so certain, even if all agree: give {needed} or more, or a lower threshold."
            problems.append(FieldProblem("most", text))
    return problems
