"""Exclusions: judgments are kept out of analysis and taken back in, reversibly. No judgment is altered.

What else keeps a judgment from counting is in `counted`, which defines it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, QuerySet

from annotation.errors import FieldProblem, InvalidInput
from annotation.items import corrections
from annotation.models import Exclusion, Judgment, Rater, Study, Task, User
from annotation.rating import overlap
from annotation.rating.rules import exclusions as rules
from annotation.rating.rules.counterbalancing import order_balance_step
from annotation.studies import audit

Action = Exclusion.Action
AUDIT_ACTIONS = {Action.EXCLUDE: "judgments.excluded", Action.RESTORE: "judgments.restored"}

_MARK = """
WITH judgment AS (
    UPDATE annotation_judgment SET excluded = %(excluded)s WHERE id = ANY(%(ids)s) RETURNING id, effective, origin
)
UPDATE annotation_answer a SET counted = judgment.effective AND judgment.origin <> %(expert)s AND NOT %(excluded)s
FROM judgment WHERE a.judgment_id = judgment.id
"""

_REVISIONS = """
SELECT other.id, other.task_id
FROM annotation_judgment named JOIN annotation_judgment other ON other.assignment_id = named.assignment_id
WHERE named.id = ANY(%s) AND other.id <> named.id
"""

_MOVE_TASKS = """
UPDATE annotation_task t
SET n_judgments = t.n_judgments + m.judgments, overlap = t.overlap + m.overlap,
    order_balance = t.order_balance + m.balance
FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[]) AS m (id, judgments, overlap, balance)
WHERE t.id = m.id
"""

_MOVE_RATERS = """
UPDATE annotation_rater r
SET n_judgments = r.n_judgments + m.judgments, n_tasks_filled = r.n_tasks_filled + m.filled
FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS m (id, judgments, filled)
WHERE r.id = m.id
"""


@dataclass(frozen=True)
class ExclusionOutcome:
    """How many judgments were marked, how many were left as they were, and for how many tasks the overlap grew.
    `kept_out`: how many of the unchanged nobody can restore, as the review or their rater's wish keeps them out."""

    changed: int
    unchanged: int
    overlap_grown: int
    kept_out: int = 0


def judgments_by_client_id(study: Study, client_ids: Sequence[UUID]) -> QuerySet[Judgment]:
    """The study's judgments with these names. Raises InvalidInput that points at each name it does not know."""
    judgments = Judgment.objects.filter(study=study, client_id__in=client_ids)
    known_ids = set(judgments.values_list("client_id", flat=True))
    problems = [
        FieldProblem(f"client_ids[{i}]", f"No judgment of this study is called {name}.")
        for i, name in enumerate(client_ids)
        if name not in known_ids
    ]
    if problems:
        raise InvalidInput("Some judgments are not there; nothing was changed.", problems=problems)
    return judgments


def judgments_of_rater(study: Study, pseudonym: str) -> QuerySet[Judgment]:
    """All judgments of one of the study's raters."""
    rater = Rater.objects.filter(study=study, pseudonym=pseudonym).first()
    if rater is None:
        raise InvalidInput(
            "This rater is not there.",
            problems=[FieldProblem("rater", f"No rater of this study is called {pseudonym}.")],
        )
    return Judgment.objects.filter(rater=rater)


@transaction.atomic
def exclude_or_restore(
    judgments: QuerySet[Judgment],
    *,
    study: Study,
    action: str,
    reason: str,
    comment: str = "",
    actor: User | None,
    subject: str = "",
    by_review: bool = False,
) -> ExclusionOutcome:
    """Exclude or restore judgments of one study, each with all its revisions. Those marked already are left alone.

    Two kinds of reasons keep judgments out, and each is taken back only by who gave it. What the review has excluded
    gets a person's reason beside its own, so that undoing a decision does not bring it back. A person's restoring ends
    their own reason; where the review has one, that stands again, and the judgment stays out. `by_review` says that
    this is the review's own mark, which goes where nothing else stands. Nobody restores what a withdrawn rater said.

    A mark moves only under its task's lock; tasks are locked in order, then raters, then the study.
    """
    mark = _Mark(study, Action(action), reason, comment, actor, by_review)
    chosen = dict(judgments.filter(study=study).values_list("id", "task_id"))
    places = overlap.lock_tasks(set(chosen.values()))
    chosen |= _revisions(list(chosen))
    rows, kept_out, n_withdrawn = _rows_to_mark(mark, chosen)
    _set_marks(mark, [row.pk for row in rows])
    n_added = _add_reasons(mark, chosen.keys() - {row.pk for row in rows}, kept_out)
    tasks, raters = rules.counter_changes(_counted_judgments(rows), places, sign=-1 if mark.excludes else 1)
    with connection.cursor() as cursor:
        cursor.execute(_MOVE_TASKS, _columns(tasks, "n_judgments", "overlap", "order_balance"))
    _change_rater_counters(study, raters)
    n_changed = len(rows) + (n_added if mark.excludes else 0)
    outcome = ExclusionOutcome(
        n_changed,
        len(chosen) - n_changed,
        sum(1 for move in tasks.values() if move.overlap > 0),
        len(kept_out) + n_withdrawn,
    )
    audit.record(
        AUDIT_ACTIONS[mark.action], actor=actor, study=study, subject=subject, reason=reason, comment=comment,
        **asdict(outcome),
    )  # fmt: skip
    return outcome


@dataclass(frozen=True)
class _Mark:
    """What to mark judgments with, and in whose name."""

    study: Study
    action: Action
    reason: str
    comment: str
    actor: User | None
    by_review: bool

    @property
    def excludes(self) -> bool:
        return self.action == Action.EXCLUDE


def _rows_to_mark(
    mark: _Mark, judgment_ids: Collection[int]
) -> tuple[list[Judgment], Mapping[int, str], int]:
    """Those that change; those that the review keeps out, with its reasons; and how many of raters who withdrew."""
    rows = list(_judgments_to_mark(judgment_ids, excluded=mark.excludes))
    if mark.excludes:
        return rows, {}, 0
    withdrawn = _withdrawn_raters(rows)
    staying = [row for row in rows if row.rater_id not in withdrawn]
    kept_out = {} if mark.by_review else corrections.review_exclusion_reasons([row.pk for row in staying])
    return [row for row in staying if row.pk not in kept_out], kept_out, len(rows) - len(staying)


def _set_marks(mark: _Mark, judgment_ids: Sequence[int]) -> None:
    _log(mark, mark.action, dict.fromkeys(judgment_ids, mark.reason))
    params: dict[str, Any] = {
        "excluded": mark.excludes,
        "ids": list(judgment_ids),
        "expert": int(Judgment.Origin.EXPERT),
    }
    with connection.cursor() as cursor:
        cursor.execute(_MARK, params)


def _add_reasons(mark: _Mark, unchanged: Collection[int], kept_out: Mapping[int, str]) -> int:
    """Log a person's reason beside the review's, or the review's again where a person's ends; how many."""
    reasons: dict[int, str] = {}
    if mark.excludes and not mark.by_review:
        reasons = dict.fromkeys(corrections.last_excluded_by_review(unchanged), mark.reason)
    elif kept_out:
        own = corrections.last_excluded_by_review(kept_out)
        reasons = {pk: why for pk, why in kept_out.items() if pk not in own}
    _log(mark, Action.EXCLUDE, reasons)
    return len(reasons)


def _revisions(judgment_ids: list[int]) -> dict[int, int]:
    """All revisions of these, with their tasks. Read after the locks: one may have come since they were named."""
    with connection.cursor() as cursor:
        cursor.execute(_REVISIONS, [judgment_ids])
        return dict(cursor.fetchall())


def _judgments_to_mark(judgment_ids: Collection[int], *, excluded: bool) -> QuerySet[Judgment]:
    """Read after the locks: what another transaction has just marked is not marked again."""
    judgments = Judgment.objects.filter(pk__in=judgment_ids).exclude(excluded=excluded)
    fields = ("task_id", "rater_id", "origin", "effective", "presentation", "task__kind")
    return judgments.select_related("task").only(*fields).order_by("task_id", "id")


def _withdrawn_raters(rows: Iterable[Judgment]) -> set[int]:
    """Read after the locks too: whoever withdraws excludes only later, under the same ones."""
    raters = Rater.objects.filter(
        pk__in={row.rater_id for row in rows if row.rater_id}, state=Rater.State.WITHDRAWN
    )
    return set(raters.values_list("pk", flat=True))


def _log(mark: _Mark, action: Action, reasons: Mapping[int, str]) -> None:
    fields = {"study": mark.study, "action": action, "comment": mark.comment, "actor": mark.actor}
    Exclusion.objects.bulk_create(
        (Exclusion(judgment_id=pk, reason=reason, **fields) for pk, reason in reasons.items()),
        batch_size=5000,
    )


def _counted_judgments(rows: Iterable[Judgment]) -> list[rules.CountedJudgment]:
    """Earlier revisions, surplus judgments, experts' own and those of checks were never counted, so their marks move
    no counter."""
    return [
        rules.CountedJudgment(row.task_id, row.rater_id, order_balance_step(row.presentation or ()))
        for row in rows
        if row.effective and row.origin != Judgment.Origin.EXPERT and row.task.kind == Task.Kind.REGULAR
    ]


def _columns(moves: Mapping[int, Any], *names: str) -> list[list[int]]:
    return [list(moves), *([getattr(move, name) for move in moves.values()] for name in names)]


def _change_rater_counters(study: Study, moves: Mapping[int | None, rules.RaterCounterChange]) -> None:
    named = {rater_id: move for rater_id, move in moves.items() if rater_id is not None}
    overlap.lock_raters(named)
    with connection.cursor() as cursor:
        cursor.execute(_MOVE_RATERS, _columns(named, "n_judgments", "n_tasks_filled"))
    if unnamed := moves.get(None):
        Study.objects.filter(pk=study.pk).update(
            n_unnamed_judgments=F("n_unnamed_judgments") + unnamed.n_judgments,
            n_unnamed_tasks_filled=F("n_unnamed_tasks_filled") + unnamed.n_tasks_filled,
        )
