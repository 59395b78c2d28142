"""Rules at work: what they would find, and cases for what they find.

A rule fires once for a version of an item; after the case was resolved it fires again only on votes that came later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils import timezone

from annotation import audit
from annotation.models import Item, Job, Study, User
from annotation.rules.flag_rules import FlagRule, FlagRules
from annotation.services import case_opening, flag_queries, jobs
from annotation.services.flag_queries import Query

_EXAMPLES = 5
# Versions looked at in one go: what a worker that is killed does again.
CHUNK = 5000


@dataclass(frozen=True)
class RuleCount:
    """What a rule finds in the data as they are: `n_items` in all, `n_new` of them without this reason on a case yet;
    `examples` are the names of a few items, new ones first."""

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
    queries = {rule.key: query for rule, query in _queries(study, rules)}
    found = []
    for rule in rules.in_force():
        # One that has nothing to ask here (no code, no confidence) finds nothing.
        counted = (0, 0, list[str]())
        if query := queries.get(rule.key):
            counted = flag_queries.count(study, rule, query, examples=_EXAMPLES)
        n_items, n_new, examples = counted
        found.append(RuleCount(rule.key, n_items, n_new, tuple(examples)))
    return found


def apply(
    study: Study, *, actor: User | None, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Applied:
    """Look at the whole study by its rules and open what they find. Safe to repeat and to run twice at once."""
    applied = look_at(study, all_versions(study), actor=actor, on_progress=on_progress)
    audit.record("flags.applied", actor=actor, study=study, **asdict(applied))
    return applied


def request(study: Study, *, actor: User | None) -> Job:
    """Have `apply` done by a worker, as a job of kind "flag" that shows its progress."""
    return jobs.enqueue("flag", study=study, params={}, actor=actor)


def run(running: jobs.Running) -> dict[str, Any]:
    """The work of a job of kind "flag". Each chunk is its own: a job that is done again finds less to do."""
    study = running.job.study
    assert study is not None  # `request` gave it one
    return asdict(apply(study, actor=running.job.created_by, on_progress=running.progress))


def look_at(
    study: Study,
    versions: Sequence[int] | None,
    *,
    actor: User | None,
    only: str = "",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Applied:
    """Open what the study's rules (or `only` one of them) find about these versions; all current ones for None."""
    queries = [
        (rule, query) for rule, query in _queries(study, FlagRules.of(study.rules)) if only in ("", rule.key)
    ]
    total = len(versions or ())
    n_opened, by_rule = 0, Counter[str]()
    for start in range(0, max(total, 1), CHUNK):
        on_progress(start, total)
        some = None if versions is None else versions[start : start + CHUNK]
        for rule, query in queries:
            if found := flag_queries.new(study, rule, query, versions=some):
                opened = case_opening.open_all(rule.key, found, at=timezone.now(), actor=actor)
                n_opened += opened.n_opened
                by_rule[rule.key] += opened.n_opened + opened.n_added
    on_progress(total, total)
    return Applied(n_opened, by_rule.total() - n_opened, dict(by_rule))


def _queries(study: Study, rules: FlagRules) -> Iterator[tuple[FlagRule, Query]]:
    for rule in rules.in_force():
        if query := flag_queries.build(study, rule):
            yield rule, query


def all_versions(study: Study) -> list[int]:
    items = Item.objects.filter(study=study, state=Item.State.ACTIVE, current_version__isnull=False)
    return [pk for pk in items.order_by("pk").values_list("current_version", flat=True) if pk is not None]
