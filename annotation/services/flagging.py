"""Rules at work: what they would find, and cases for what they find.

A rule fires once for a version of an item; after the case was resolved it fires again only on votes that came later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from annotation.models import Job, Study, User
from annotation.rules.flag_rules import FlagRules


@dataclass(frozen=True)
class RuleCount:
    """What a rule finds in the data as they are: `n_items` in all, `n_new` of them without this reason on a case yet;
    `examples` are the names of a few items, strongest first where the rule has an order."""

    rule: str
    n_items: int
    n_new: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Applied:
    """`n_opened` cases, `n_added` further reasons on cases that were there, and new reasons by rule."""

    n_opened: int = 0
    n_added: int = 0
    by_rule: dict[str, int] = field(default_factory=dict)


def preview(study: Study, rules: FlagRules) -> list[RuleCount]:
    """What these rules, in force or only wanted, find now; one entry for each that is on. Changes nothing."""
    raise NotImplementedError


def apply(study: Study, *, actor: User | None) -> Applied:
    """Look at the whole study by its rules and open what they find. Safe to repeat and to run twice at once."""
    raise NotImplementedError


def request(study: Study, *, actor: User | None) -> Job:
    """Have `apply` done by a worker, as a job of kind "flag" that shows its progress."""
    raise NotImplementedError


def sweep() -> Applied:
    """Look at what changed in every study since the last sweep: for beat. A second one at once does nothing."""
    raise NotImplementedError
