"""The pools of checks: how many there are of each kind, how far they reach, and how raters did on each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, Count, Q, QuerySet

from annotation.checks import rules
from annotation.checks.drawing import POOL_KINDS
from annotation.checks.keys import expected_of
from annotation.models import CheckOutcome, Study, Task
from annotation.studies.protocols import load_protocol

# So many answers tell a wrong key from bad luck.
ENOUGH_ANSWERS = 5
TASKS_SHOWN = 200


@dataclass(frozen=True)
class Pool:
    """`n_tasks` is None of repeats, whose pool is what a rater has judged. `needed`: how many a rater meets who judges
    every regular task; `lasts`: after about how many tasks they have met all there are, None where these suffice."""

    kind: str
    share: float
    n_tasks: int | None
    needed: int
    lasts: int | None
    n_answers: int
    n_passed: int
    n_failed: int
    score: float | None

    @property
    def passed(self) -> float | None:
        decided = self.n_passed + self.n_failed
        return self.n_passed / decided if decided else None


@dataclass(frozen=True)
class CheckTask:
    """One check, what it expects in words, and how its raters did. `suspect`: most fail it, as they would where the
    key is wrong."""

    task: Task
    expected: str
    n_answers: int
    n_passed: int
    n_decided: int

    @property
    def passed(self) -> float | None:
        return self.n_passed / self.n_decided if self.n_decided else None

    @property
    def suspect(self) -> bool:
        return self.n_decided >= ENOUGH_ANSWERS and 2 * self.n_passed < self.n_decided


def pools_of(study: Study) -> list[Pool]:
    """In the order of the settings."""
    injection = rules.injection_in(study.rules.get("injection")) or rules.Injection()
    ready = study.tasks.filter(kind__gt=Task.Kind.REGULAR, state=Task.State.READY)
    sizes = dict(ready.values_list("kind").annotate(n=Count("pk")))
    outcomes = {row["kind"]: row for row in _counts(_outcomes(study).values("kind"))}
    n_tasks = rules.progress(injection, done=0, n_regular=study.n_tasks)["tasks"]
    pools = []
    for kind in rules.KINDS:
        number, share = int(POOL_KINDS.get(kind, Task.Kind.REPEAT)), getattr(injection, kind)
        size = None if kind == "repeat" else sizes.get(number, 0)
        needed, row = math.floor(share * n_tasks), outcomes.get(number, {})
        short = size is not None and size < needed
        pools.append(
            Pool(
                kind=kind,
                share=share,
                n_tasks=size,
                needed=needed,
                lasts=int((size or 0) / share) if short else None,
                n_answers=row.get("n", 0),
                n_passed=row.get("n_passed", 0),
                n_failed=row.get("n_failed", 0),
                score=row.get("mean_score"),
            )
        )
    return pools


def check_tasks(study: Study, *, after: int = 0, limit: int = TASKS_SHOWN) -> list[CheckTask]:
    """The study's checks by age, without repeats; `after`: the id of the last one before."""
    tasks = study.tasks.filter(kind__in=[*POOL_KINDS.values()], pk__gt=after).exclude(
        state=Task.State.WITHDRAWN
    )
    shown = list(tasks.select_related("item_version").prefetch_related("gold_keys").order_by("pk")[:limit])
    counts = {row["task"]: row for row in _counts(_outcomes(study).filter(task__in=shown).values("task"))}
    return [_check_task(study, task, counts.get(task.pk, {})) for task in shown]


def check_task(task: Task) -> CheckTask:
    """One check as `check_tasks` has it."""
    task.refresh_from_db(fields=["kind"])
    rows = _counts(_outcomes(task.study).filter(task=task).values("task"))
    return _check_task(task.study, task, next(iter(rows), {}))


def _check_task(study: Study, task: Task, counts: Mapping[str, Any]) -> CheckTask:
    n_passed, n_failed = counts.get("n_passed", 0), counts.get("n_failed", 0)
    return CheckTask(
        task, ", ".join(_expected(task, study)), counts.get("n", 0), n_passed, n_passed + n_failed
    )


def _expected(task: Task, study: Study) -> Iterator[str]:
    for question, key, answer in expected_of(task, load_protocol(study.protocol_version_id).spec):
        yield f"{question.key}: {answer}" + (f" ± {key.tolerance:g}" if key.tolerance else "")


def _outcomes(study: Study) -> QuerySet[CheckOutcome]:
    return CheckOutcome.objects.filter(task__study=study, rater__withdrawal=None)


def _counts(outcomes: QuerySet[CheckOutcome, Any]) -> QuerySet[CheckOutcome, dict[str, Any]]:
    return outcomes.annotate(
        n=Count("pk"),
        n_passed=Count("pk", filter=Q(passed=True)),
        n_failed=Count("pk", filter=Q(passed=False)),
        mean_score=Avg("score"),
    ).order_by()
