"""Bulk changes of rows of a table: of few rows at once, of all rows that match a filter by a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from analytics.browse import summaries
from analytics.browse.facts import study_facts
from analytics.browse.query import Query, Selection
from analytics.raters import quality
from analytics.raters.rules import QualityRules
from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.jobs import jobs
from annotation.models import Exclusion, Item, Job, Judgment, Rater, Study, Task, User
from annotation.raters import actions
from annotation.rating import exclusions, overlap, task_kinds
from annotation.review import adjudication, cases
from annotation.review.cases import Finding
from annotation.review.labels import REQUESTED
from annotation.studies import audit
from annotation.studies.settings import gettext_noop as _

JOB_KIND = "bulk_change"
# Rows that are changed while the page waits; more are a job.
MOST_AT_ONCE = 200
CHUNK = 500
MAX_OVERLAP = 1000

# By table: what can be done, with the label of the button.
ACTIONS: Mapping[str, Mapping[str, str]] = {
    "items": {
        "review": _("Send to review"),
        "overlap": _("Change the overlap"),
        "withdraw": _("Withdraw the items"),
        "bring_back": _("Bring the items back"),
    },
    "tasks": {
        "review": _("Send to review"),
        "overlap": _("Change the overlap"),
        "kind": _("Set the kind"),
        "withdraw": _("Withdraw their items"),
    },
    "judgments": {
        "exclude": _("Exclude"),
        "restore": _("Restore"),
        "review": _("Send to review"),
    },
    "raters": {
        "warn": _("Warn them"),
        "training": _("Ask for training again"),
        "pause": _("Pause them"),
        "exclude_rater": _("Exclude from now on"),
        "exclude_all": _("Exclude with all judgments"),
        "reinstate": _("Take back what was done"),
    },
}
RATER_ACTIONS = {"exclude_rater": "exclude", "warn": "warn", "training": "training", "pause": "pause",
                 "exclude_all": "exclude_all"}  # fmt: skip
NEEDS_REASON = ("exclude", "restore", "withdraw", *RATER_ACTIONS)


@dataclass(frozen=True)
class Change:
    """What to do. `reason`: of exclusions and withdrawals. `overlap`, `kind`: what tasks are to have. `comment`: for
    whoever reviews, or asks later."""

    action: str
    reason: str = ""
    comment: str = ""
    overlap: int | None = None
    kind: str = ""

    @classmethod
    def of(cls, table: str, values: Mapping[str, Any]) -> Change:
        """Raises InvalidInput that names each fault."""
        change = cls(
            **{one.name: values[one.name] for one in fields(cls) if values.get(one.name) not in (None, "")}
        )
        if problems := list(change.problems(table)):
            raise InvalidInput("This cannot be done; nothing was changed.", problems=problems)
        return change

    def problems(self, table: str) -> Iterable[FieldProblem]:
        if self.action not in ACTIONS[table]:
            yield FieldProblem("action", f"Choose one of {', '.join(ACTIONS[table])}.")
        if self.action in NEEDS_REASON and not 0 < len(self.reason.strip()) <= 40:
            yield FieldProblem("reason", "Say why, in 1 to 40 characters.")
        if len(self.comment) > 2000:
            yield FieldProblem("comment", "Write at most 2,000 characters.")
        if self.action == "overlap" and not 0 < (self.overlap or 0) <= MAX_OVERLAP:
            yield FieldProblem("overlap", f"Give a number of judgments from 1 to {MAX_OVERLAP}.")
        if self.action == "kind" and self.kind not in task_kinds.CHANGEABLE:
            yield FieldProblem("kind", f"Choose one of {', '.join(task_kinds.CHANGEABLE)}.")


@dataclass
class Outcome:
    """How many rows were changed and how many not, and how many of these for which `reasons`."""

    changed: int = 0
    unchanged: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: Outcome) -> Outcome:
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.reasons.update(other.reasons)
        return self

    def as_json(self) -> dict[str, Any]:
        return {"changed": self.changed, "unchanged": self.unchanged, "reasons": dict(self.reasons)}


def change_rows(
    study: Study, query: Query, change: Change, *, ids: Sequence[int] | None, actor: User
) -> Outcome | Job:
    """Change these rows, or all rows that match the query (None): at once where they are few, else by a job."""
    if ids is not None and len(ids) <= MOST_AT_ONCE:
        chosen = Selection(study, Query(query.table), study_facts(study)).keep_matching(ids)
        return change_chunk(study, query.table, chosen, change, actor=actor)
    # In the order of ids: what is sorted by moves while votes come in.
    query = replace(query, sort="", columns=())
    selection = Selection(study, query, study_facts(study))
    if ids is None:
        # As a page, so the search takes bounded time: a job does a longer one.
        page = selection.page(limit=MOST_AT_ONCE)
        if not page.after:
            return change_chunk(study, query.table, page.ids, change, actor=actor)
    params = {"table": query.table, "filters": query.as_values(), "change": asdict(change), "ids": ids}
    return jobs.enqueue(JOB_KIND, study=study, params=params, actor=actor)


def run_change(running: jobs.RunningJob) -> dict[str, Any]:
    """The work of a job. A chunk is a transaction of its own: a job that is done again finds less to do."""
    study, params = running.job.study, running.job.params
    assert study is not None  # `change_rows` sets it
    query = Query.of(params["table"], params["filters"])
    selection = Selection(study, query, study_facts(study))
    change, outcome = Change(**params["change"]), Outcome()
    # All ids are read before the first change: a changed row may no longer match.
    ids = (
        params["ids"] if params["ids"] is not None else [pk for chunk in selection.all_ids() for pk in chunk]
    )
    for start in range(0, len(ids), CHUNK):
        running.progress(start, len(ids))
        chunk = (
            selection.keep_matching(ids[start : start + CHUNK])
            if params["ids"]
            else ids[start : start + CHUNK]
        )
        outcome += change_chunk(study, query.table, chunk, change, actor=running.job.created_by)
    running.progress(len(ids), len(ids))
    return {"action": change.action, "table": query.table, **outcome.as_json()}


def change_chunk(
    study: Study, table: str, ids: Sequence[int], change: Change, *, actor: User | None
) -> Outcome:
    """Change these rows of the study now, and their summaries with them."""
    if not ids:
        return Outcome()
    outcome = _CHANGES[change.action](study, table, ids, change, actor)
    if table == "raters":
        quality.refresh(study.pk)
    else:
        summaries.refresh_tasks(study, _task_ids(table, ids))
    return outcome


def _task_ids(table: str, ids: Sequence[int]) -> list[int]:
    match table:
        case "tasks":
            return list(ids)
        case "judgments":
            return list(Judgment.objects.filter(pk__in=ids).values_list("task_id", flat=True).distinct())
        case _:
            tasks = Task.objects.filter(item_version__item__in=ids)
            return list(tasks.values_list("pk", flat=True))


def _item_ids(table: str, ids: Sequence[int]) -> list[int]:
    if table == "items":
        return list(ids)
    tasks = Task.objects.filter(pk__in=_task_ids(table, ids))
    return sorted(set(tasks.values_list("item_version__item_id", flat=True)))


def _exclude(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    result = exclusions.exclude_or_restore(
        Judgment.objects.filter(pk__in=ids),
        study=study,
        action=Exclusion.Action(change.action),
        reason=change.reason.strip(),
        comment=change.comment,
        actor=actor,
        subject="data",
    )
    reasons = Counter({"kept_out": result.kept_out}) if result.kept_out else Counter[str]()
    return Outcome(result.changed, result.unchanged, reasons)


def _review(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    """A case for each item that has none, in addition to the findings of rules: its task is the one that was chosen."""
    chosen = Task.objects.filter(pk__in=_task_ids(table, ids)) if table != "items" else Task.objects.none()
    tasks = dict(chosen.order_by("-pk").values_list("item_version_id", "pk"))
    items = Item.objects.filter(pk__in=_item_ids(table, ids), study=study, state=Item.State.ACTIVE)
    evidence = {"comment": change.comment.strip()} if change.comment.strip() else {}
    versions = [pk for pk in items.order_by("pk").values_list("current_version_id", flat=True) if pk]
    firsts = dict(
        Task.objects.filter(item_version__in=versions, state=Task.State.READY)
        .order_by("-pk").values_list("item_version_id", "pk")
    )  # fmt: skip
    findings = [
        Finding(pk, tasks.get(pk) or firsts.get(pk), timezone.now(), evidence, weight=1.0) for pk in versions
    ]
    opened = cases.open_cases(REQUESTED, findings, at=timezone.now(), actor=actor)
    audit.record("cases.requested", actor=actor, study=study, n=opened.n_opened + opened.n_added)
    changed = opened.n_opened + opened.n_added
    return Outcome(changed, len(_item_ids(table, ids)) - changed)


def _overlap(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    """Never below what a task has, with what is on its way."""
    target, task_ids = change.overlap or 1, _task_ids(table, ids)
    tasks = Task.objects.filter(pk__in=task_ids, study=study).exclude(state=Task.State.WITHDRAWN)
    with transaction.atomic():
        # The present overlap is read under the locks: another request may be changing it.
        places_by_task = overlap.lock_tasks(list(tasks.values_list("pk", flat=True)))
        added = {
            pk: target - places.overlap for pk, places in places_by_task.items() if places.overlap != target
        }
        overlap.change_tasks_overlap(study, added, overlap=target, actor=actor)
    return Outcome(len(added), len(task_ids) - len(added))


def _kind(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    result = task_kinds.set_kind(study, ids, kind=change.kind, actor=actor)
    reasons = +Counter({"without_key": result.without_key, "met": result.met})
    return Outcome(result.changed, result.unchanged + reasons.total(), reasons)


def _withdraw(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    return _each_item(
        table,
        ids,
        lambda item: adjudication.withdraw_item(study, item, reason=change.reason.strip(), actor=actor),
    )


def _bring_back(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    return _each_item(table, ids, lambda item: adjudication.bring_item_back(study, item, actor=actor))


def _each_item(table: str, ids: Sequence[int], act: Callable[[int], bool]) -> Outcome:
    changed = [act(item) for item in _item_ids(table, ids)]
    return Outcome(sum(changed), len(changed) - sum(changed))


def _rater_action(
    study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None
) -> Outcome:
    outcome, recollect = Outcome(), QualityRules.of(study.rules).recollect
    for rater in Rater.objects.filter(pk__in=ids, study=study).order_by("pk"):
        try:
            actions.act(
                rater, RATER_ACTIONS[change.action], actor=actor, reason=change.reason, message=change.comment[:300],
                recollect=recollect,
            )  # fmt: skip
            outcome.changed += 1
        except Conflict:
            outcome += Outcome(0, 1, Counter({"withdrawn": 1}))
    return outcome


def _reinstate(study: Study, table: str, ids: Sequence[int], change: Change, actor: User | None) -> Outcome:
    outcome = Outcome()
    for rater in Rater.objects.filter(pk__in=ids, study=study).order_by("pk"):
        n = actions.revert_all(rater, actor=actor)
        outcome += Outcome(int(n > 0), int(not n))
    return outcome


_CHANGES: Mapping[str, Callable[[Study, str, Sequence[int], Change, User | None], Outcome]] = {
    "exclude": _exclude,
    "restore": _exclude,
    "review": _review,
    "overlap": _overlap,
    "kind": _kind,
    "withdraw": _withdraw,
    "bring_back": _bring_back,
    "warn": _rater_action,
    "training": _rater_action,
    "pause": _rater_action,
    "exclude_rater": _rater_action,
    "exclude_all": _rater_action,
    "reinstate": _reinstate,
}
