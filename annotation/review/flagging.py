"""Flagging: previews of the flag rules, runs over a study, and the periodic sweep.

A rule fires once for a version of an item; after the case was resolved it fires again only on votes that came later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.utils import timezone
from django.utils.module_loading import import_string

from annotation import hooks
from annotation.advisory_locks import LockKey, session_lock
from annotation.jobs import jobs, sweeps
from annotation.jobs.sweeps import SweepSource
from annotation.models import FlagSweep, Item, Job, Study, User
from annotation.review import cases, flag_queries, flag_rules
from annotation.review.flag_queries import QueryBuilder, RuleQuery
from annotation.review.flag_rules import FlagRule, FlagRules
from annotation.studies import audit

_EXAMPLES = 5
# Versions looked at in one go: what a worker that is killed does again.
FLAGGING_CHUNK = 5000


@dataclass(frozen=True)
class RuleCount:
    """What a rule finds in the data as they are: `n_items` in all, `n_new` of them without this reason on a case yet;
    `examples` are the names of a few items, new ones first."""

    rule: str
    n_items: int
    n_new: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class FlaggingResult:
    """`n_opened` cases, `n_added` further reasons on cases that were there, and new reasons by rule."""

    n_opened: int = 0
    n_added: int = 0
    by_rule: dict[str, int] = field(default_factory=dict)


def preview_rules(study: Study, rules: FlagRules) -> list[RuleCount]:
    """What these rules, in force or only wanted, find now; one entry for each that is on. Changes nothing."""
    queries = {rule.key: query for rule, query in _queries(study, rules)}
    counts = []
    for rule in rules.in_force():
        # One that has nothing to ask here (no code, no confidence) finds nothing.
        count = (0, 0, list[str]())
        if query := queries.get(rule.key):
            count = flag_queries.count_findings(study, rule, query, examples=_EXAMPLES)
        n_items, n_new, examples = count
        counts.append(RuleCount(rule.key, n_items, n_new, tuple(examples)))
    return counts


def apply_rules(
    study: Study, *, actor: User | None, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> FlaggingResult:
    """Look at the whole study by its rules and open what they find. Safe to repeat and to run twice at once."""
    applied = flag_versions(study, current_versions(study), actor=actor, on_progress=on_progress)
    audit.record("flags.applied", actor=actor, study=study, **asdict(applied))
    return applied


def enqueue_flagging(study: Study, *, actor: User | None) -> Job:
    """Have `apply` done by a worker, as a job of kind "flag" that shows its progress."""
    return jobs.enqueue("flag", study=study, params={}, actor=actor)


def flagging_state(study: Study) -> str:
    """ "running", "ran", or "never" where no rule has looked at this study yet: then an empty queue means nothing."""
    runs = Job.objects.filter(study=study, kind="flag")
    if runs.filter(state__in=Job.UNFINISHED).exists():
        return "running"
    ran = runs.filter(state=Job.State.DONE).exists() or FlagSweep.objects.filter(study=study).exists()
    return "ran" if ran else "never"


def run_flagging(running: jobs.RunningJob) -> dict[str, Any]:
    """The work of a job of kind "flag". Each chunk is its own: a job that is done again finds less to do."""
    study = running.job.study
    assert study is not None  # `request` gave it one
    return asdict(apply_rules(study, actor=running.job.created_by, on_progress=running.progress))


def flag_versions(
    study: Study,
    versions: Sequence[int] | None,
    *,
    actor: User | None,
    only: str = "",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> FlaggingResult:
    """Open what the study's rules (or `only` one of them) find about these versions; all current ones for None."""
    queries = [
        (rule, query) for rule, query in _queries(study, FlagRules.of(study.rules)) if only in ("", rule.key)
    ]
    total = len(versions or ())
    n_opened, by_rule = 0, Counter[str]()
    for start in range(0, max(total, 1), FLAGGING_CHUNK):
        on_progress(start, total)
        chunk = None if versions is None else versions[start : start + FLAGGING_CHUNK]
        for rule, query in queries:
            if findings := flag_queries.new_findings(study, rule, query, versions=chunk):
                opened = cases.open_cases(rule.key, findings, at=timezone.now(), actor=actor)
                n_opened += opened.n_opened
                by_rule[rule.key] += opened.n_opened + opened.n_added
    on_progress(total, total)
    return FlaggingResult(n_opened, by_rule.total() - n_opened, dict(by_rule))


def _queries(study: Study, rules: FlagRules) -> Iterator[tuple[FlagRule, RuleQuery]]:
    for rule in rules.in_force():
        if query := _query_builder(rule)(study, rule):
            yield rule, query


def _query_builder(rule: FlagRule) -> QueryBuilder:
    builder: QueryBuilder = flag_queries.QUERY_BUILDERS.get(rule.key) or import_string(
        hooks.FLAG_QUERIES[rule.key]
    )
    return builder


def current_versions(study: Study) -> list[int]:
    items = Item.objects.filter(study=study, state=Item.State.ACTIVE, current_version__isnull=False)
    return [pk for pk in items.order_by("pk").values_list("current_version", flat=True) if pk is not None]


# The periodic sweep over what is new in every study that has begun


_SWEEP_SOURCES = {
    "judgments": SweepSource(
        highest="SELECT max(id) FROM annotation_judgment WHERE study_id = %(study)s",
        changed="SELECT t.item_version_id FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id"
        " WHERE j.study_id = %(study)s AND j.id > %(low)s",
    ),
    "exclusions": SweepSource(
        highest="SELECT max(id) FROM annotation_exclusion",
        changed="SELECT t.item_version_id FROM annotation_exclusion e"
        " JOIN annotation_judgment j ON j.id = e.judgment_id AND j.study_id = %(study)s"
        " JOIN annotation_task t ON t.id = j.task_id WHERE e.id > %(low)s",
    ),
}


def _sweep_sources() -> dict[str, SweepSource]:
    """Ours, and what the rules of other apps rest on."""
    return _SWEEP_SOURCES | {name: import_string(source) for name, source in hooks.FLAG_SOURCES.items()}


def sweep_studies() -> FlaggingResult:
    """Look at what changed in every study that has begun and is not archived. For beat; a second sweep at the same
    time does nothing."""
    n_opened, n_added = 0, 0
    with session_lock(LockKey.FLAG_SWEEP) as alone:
        started = (
            Study.in_use().exclude(state=Study.State.DRAFT).order_by("pk") if alone else Study.objects.none()
        )
        for study_id in started.values_list("pk", flat=True):
            applied = _sweep_study(study_id)
            n_opened, n_added = n_opened + applied.n_opened, n_added + applied.n_added
    return FlaggingResult(n_opened, n_added)


def reset_sweep(study: Study) -> None:
    """Have the next sweep look at all of a study: its rules have changed. In the transaction that changes them."""
    FlagSweep.objects.filter(study=study).delete()


def _sweep_study(study_id: int) -> FlaggingResult:
    # In this order: rules that change after the mark was read take the mark away, so that they are looked at again.
    mark, _ = FlagSweep.objects.get_or_create(study_id=study_id)
    study = Study.objects.get(pk=study_id)
    sight = sweeps.visible_heads(study, {name: source.highest for name, source in _sweep_sources().items()})
    applied = _flag_changed(study, mark.seen)
    if applied != FlaggingResult():
        audit.record("flags.applied", actor=None, study=study, **asdict(applied))
    sweeps.store_mark(mark, sight)
    return applied


def _flag_changed(study: Study, seen: dict[str, int]) -> FlaggingResult:
    rules = FlagRules.of(study.rules)
    versions = _changed_versions(study, seen) if seen else current_versions(study)
    applied = flag_versions(study, versions, actor=None) if versions else FlaggingResult()
    if not (seen and rules[flag_rules.Unannotated.key].on):
        return applied
    # What makes an item fire that nobody has judged (a skip, a study that is paused) leaves no row behind.
    bare = flag_versions(study, None, actor=None, only=flag_rules.Unannotated.key)
    return FlaggingResult(applied.n_opened + bare.n_opened, applied.n_added + bare.n_added)


def _changed_versions(study: Study, seen: dict[str, int]) -> list[int]:
    """Versions that something new was said of."""
    in_force = {"", *(rule.key for rule in FlagRules.of(study.rules).in_force())}
    sources = {name: source for name, source in _sweep_sources().items() if source.rule in in_force}
    return sorted(sweeps.changed_ids(study, sources, seen))
