"""A case at the desk: real votes, a claim, and the expert's own judgment."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction

from annotation.items import locks, withdrawals
from annotation.models import Assignment, Item, Judgment, Rater, ReviewCase, Study, Task, User
from annotation.rating import judgments, leases
from annotation.rating.judgments import Submission
from annotation.review import blind_judgments, cases, returns
from annotation.review.adjudication import Corrections
from tests import factories
from tests.annotation.importing import reviewing
from tests.annotation.importing.answers import comparison, rating


def give(user: User, task: Task, submission: Submission | None = None) -> Judgment:
    """This account's vote on a task, by way of a lease."""
    lease = leased(user, task)
    judgments.submit(user, lease.pk, submission or rating(3))
    return Judgment.objects.get(assignment_id=lease.pk, effective=True)


def leased(user: User, task: Task) -> Assignment:
    """A lease of just this task, whatever else waits in the study."""
    others = Task.objects.filter(study=task.study, state=Task.State.READY).exclude(pk=task.pk)
    held = list(others.values_list("pk", flat=True))
    Task.objects.filter(pk__in=held).update(state=Task.State.HELD)
    _, lease = leases.lease_next(user, task.study.slug)
    Task.objects.filter(pk__in=held).update(state=Task.State.READY)
    assert lease is not None
    assert lease.task_id == task.pk
    return Assignment.objects.get(pk=lease.id)


def claimed(user: User, task: Task, **fields: Any) -> ReviewCase:
    """A case of the task's version that this expert has claimed."""
    return cases.claim(user, reviewing.case(task, **fields).pk)


def judged(user: User, task: Task, **fields: Any) -> ReviewCase:
    """A claimed case that this expert has judged blind."""
    case = claimed(user, task, **fields)
    blind_judgments.begin_blind(user, case.pk)
    pair = Task.objects.get(pk=task.pk).slots.count() == 2
    blind_judgments.judge_blind(user, case.pk, comparison() if pair else rating(4))
    return ReviewCase.objects.get(pk=case.pk)


@transaction.atomic
def withdraw(item: Item, *, reason: str = "Silent.") -> None:
    """Take an item out as a decision about it does, with no expert and no case."""
    locks.lock_cases(item.pk)
    locked = locks.lock_item(item.pk)
    returns.close_item_cases(locked, decision=ReviewCase.Decision.WITHDRAWN, actor=None)
    withdrawals.withdraw_item(locked, reason=reason, actor=None)


def corrections(case: ReviewCase, **fields: Any) -> Corrections:
    texts = fields.pop("texts", {"question": "What rings?"})
    return Corrections(
        **{"version_id": case.item_version_id, "texts": texts, "reason": "wording", "comment": "", **fields}
    )


def true_counters(study: Study) -> None:
    """Every counter is what the rows say when they are counted one by one."""
    counted = Judgment.objects.filter(study=study, effective=True, excluded=False).exclude(
        origin=Judgment.Origin.EXPERT
    )
    live = Task.objects.filter(study=study).exclude(state=Task.State.WITHDRAWN)
    for task in Task.objects.filter(study=study):
        held = Assignment.objects.filter(task=task, state=Assignment.State.OPEN).count()
        assert (task.n_judgments, task.n_leases) == (counted.filter(task=task).count(), held), (
            task.external_id
        )
    raters = Rater.objects.filter(study=study)
    for rater in raters:
        assert rater.n_judgments == counted.filter(rater=rater).count(), rater
        assert rater.n_surplus == Judgment.objects.filter(rater=rater, surplus=True).count(), rater
    study.refresh_from_db()
    full = [task for task in Task.objects.filter(study=study) if task.n_judgments >= task.overlap]
    filled = sum(rater.n_tasks_filled for rater in raters) + study.n_unnamed_tasks_filled
    assert filled == len(full)
    assert study.n_tasks == live.count()
    assert study.n_items == study.items.filter(state="active").count()


def named(n: int) -> uuid.UUID:
    return uuid.UUID(int=n)


def people(study: Study, n: int) -> list[User]:
    return [factories.member(study) for _ in range(n)]
