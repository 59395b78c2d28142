"""What a study asks of its review: how cases are worked. Which rules make cases is in `flag_rules`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from annotation.rules.answers import Problem

# Why the review keeps judgments out of analysis; every other reason is somebody's own.
EXCLUSIONS = ("item_corrected", "item_withdrawn", "correction_undone")
# The fields of an item that an expert may correct, in the order of the desk.
CORRECTABLE = ("question", "reference", "rationale", "transcript", "prompt", "lyrics")
# Why a field was corrected.
REASONS = ("incomplete", "wrong", "insufficient", "ambiguous", "wording", "other")


@dataclass(frozen=True)
class ReviewSettings:
    """`undo_minutes`: how long a decision can be taken back. `claim_minutes`: how long a case stays with an expert who
    does nothing. `same_raters`: whether those who judged a version may judge the corrected one. `pool_votes`: how many
    more judgments a return to the pool asks for."""

    undo_minutes: int = 10
    claim_minutes: int = 30
    same_raters: bool = False
    pool_votes: int = 1

    @classmethod
    def of(cls, rules: Mapping[str, Any]) -> ReviewSettings:
        """From a study's `rules`, in which only what differs from the defaults need stand."""
        stated = rules.get("review", {})
        return cls(**{name: stated[name] for name in NAMES if name in stated})


NAMES = tuple(field.name for field in fields(ReviewSettings))
# The least and the most of each number.
BOUNDS = {"undo_minutes": (0, 10_080), "claim_minutes": (5, 1440), "pool_votes": (1, 20)}


def faults(settings: Mapping[str, Any]) -> list[Problem]:
    """Every fault of settings that somebody wants, each with the name of its field."""
    found = []
    for name, value in settings.items():
        if name == "same_raters":
            if not isinstance(value, bool):
                found.append(Problem(name, "Give true or false."))
        elif name not in BOUNDS:
            found.append(Problem(name, f"There is no such setting; there are {', '.join(NAMES)}."))
        elif (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not (BOUNDS[name][0] <= value <= BOUNDS[name][1])
        ):
            least, most = BOUNDS[name]
            found.append(Problem(name, f"Give a whole number from {least} to {most}."))
    return found
