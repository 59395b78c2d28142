"""Active learning: which task a rater gets where a study puts first what a vote would teach most, and its inclusion
probability.

Each draw is one of two kinds. With the chance `uniform` it takes any open task, else one of the first `among` by
priority, each as likely as the others. A task's chance in a draw is the sum over both kinds, so it is known exactly at
the moment of the draw, and a mean in which every vote counts by the inverse of it is the mean over all tasks
(Horvitz & Thompson 1952).

Any open task: tasks lie on a circle at their shuffle keys. A place is drawn on it, then one of the WINDOW tasks that
come next. So a task's chance is the arc of the places that have it in their window, divided by WINDOW: known from
WINDOW tasks behind it, however many there are, and nearly the same for all, because a sum of WINDOW gaps varies little.
Where no more tasks than WINDOW are open, each has exactly the same chance.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.errors import FieldProblem
from annotation.studies.settings import all_values, from_stored, setting, validate
from annotation.studies.settings import gettext_noop as _

# With less, some tasks would hardly ever come, and an estimate over all would rest on a few heavy votes.
MIN_UNIFORM = 0.2
MAX_WEIGHT = 100.0
WINDOW = 32
# How often a draw is made anew whose task another rater is just taking.
ATTEMPTS = 4
# In a study's `rules`: what its priorities were reckoned from last.
PRIORITIES_SOURCE_KEY = "ordering_made_from"


@dataclass(frozen=True)
class Ordering:
    """A study's policy. The weights are of what a priority is made of; `scorer` names the model that these come from:
    a kind of model, a version's digest, or empty for the study's own."""

    uniform: float = setting(
        MIN_UNIFORM,
        label=_("Share of tasks drawn from all that are open, in %"),
        help_text=_("Drawn uniformly, whatever the model predicts. At least a fifth."),
        least=MIN_UNIFORM,
        most=1,
        percent=True,
        message="Give a number from {least} to {most}: with fewer random tasks, means over all cannot be estimated.",
    )
    among: int = setting(
        16,
        label=_("The others are drawn from the first"),
        help_text=_("This many tasks. With few, raters who work at the same time get the same ones."),
        # With fewer, raters who ask at the same moment are all after the same few tasks.
        least=4,
        most=1000,
    )
    uncertainty: float = setting(0.25, label=_("Weight of the model's uncertainty"), least=0, most=MAX_WEIGHT)
    disagreement: float = setting(
        0.25, label=_("Weight of disagreement between votes and the model"), least=0, most=MAX_WEIGHT
    )
    # As much as the other two together: with less, a model that is still learning costs votes (docs/simulation.md).
    coverage: float = setting(0.5, label=_("Weight of having few judgments yet"), least=0, most=MAX_WEIGHT)
    scorer: str = setting(
        "",
        label=_("The model"),
        description="The model's name or a version's digest; empty for the one promoted in this study.",
        max_length=80,
        message="Give a name of at most 80 characters, or nothing.",
    )


WEIGHTS = ("uncertainty", "disagreement", "coverage")


@dataclass(frozen=True)
class Coin:
    """The random numbers of one draw, both in [0, 1)."""

    kind: float
    place: float

    def is_uniform(self, policy: Ordering) -> bool:
        return self.kind < policy.uniform

    def within(self, policy: Ordering) -> float:
        """A number in [0, 1) that is independent of the kind and of `place`: where in its part `kind` lies."""
        low, high = (0.0, policy.uniform) if self.is_uniform(policy) else (policy.uniform, 1.0)
        return min((self.kind - low) / (high - low), math.nextafter(1.0, 0.0))


def draw_coins(seed: int, assignment: uuid.UUID) -> tuple[Coin, ...]:
    """The numbers of an assignment's draw and of those made in its place. They follow from what is stored: whoever
    knows the study's seed can make any draw again."""
    digest = hashlib.blake2b(f"{seed}:{assignment}".encode(), digest_size=16 * ATTEMPTS).digest()
    numbers = [
        (int.from_bytes(digest[start : start + 8], "big") >> 11) / 2**53 for start in range(0, len(digest), 8)
    ]
    return tuple(Coin(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True))


@dataclass(frozen=True)
class TasksBehind:
    """The open tasks that a rater may be given behind one of them, nearest first, at most WINDOW in all: `n_before` of
    smaller keys, then `n_beyond` from the circle's end down to the task itself; and the last key of either."""

    n_before: int
    before: float | None
    n_beyond: int
    beyond: float | None


def uniform_probability(key: float, behind: TasksBehind) -> float:
    """That a draw of any open task takes the one at `key`."""
    n = behind.n_before + behind.n_beyond
    if n < WINDOW:  # with the task itself, these are all there are
        return 1 / n
    if behind.n_beyond:
        assert behind.beyond is not None
        return (1 + key - behind.beyond) / WINDOW
    assert behind.before is not None
    return (key - behind.before) / WINDOW


def inclusion_probability(policy: Ordering, *, n_first: int, is_first: bool, uniform: float) -> float:
    """That a draw takes a task: one of the `n_first` first ones or not, with a chance of `uniform` among all. Where the
    first ones are none, every draw is of any task."""
    if not n_first:
        return uniform
    return (1 - policy.uniform) * is_first / n_first + policy.uniform * uniform


def settings(rules: Mapping[str, Any]) -> Ordering | None:
    """From a study's `rules`; None where tasks come in a plain order."""
    stored = rules.get("ordering")
    return from_stored(Ordering, stored) if stored else None


def as_json(rules: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a study's `rules`, and whether they are in force."""
    stored = rules.get("ordering", {})
    return {"on": bool(stored), **all_values(Ordering, stored)}


def validate_ordering(values: Mapping[str, Any]) -> list[FieldProblem]:
    """The problems of a whole policy, each with the name of its setting."""
    problems = validate(Ordering, values)
    if not any(values[name] for name in WEIGHTS) and {fault.field for fault in problems}.isdisjoint(WEIGHTS):
        problems.append(FieldProblem("uncertainty", "Give at least one of the three a weight above 0."))
    return problems


# ── Places in the queue ────────────────────────────────────────────────────────


def shuffle_key(seed: int, external_id: str) -> float:
    """A place in [0, 1) that depends on nothing but the study's seed and the task's name: imports in parts agree."""
    digest = hashlib.blake2b(f"{seed}:{external_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


# Where a rater starts in a study that is worked through as listed: before the first task, whose key is 0.
START_OF_LIST = -1.0
