"""Exclusions: what excluding or restoring judgments does to the counters of tasks and raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Sign = Literal[-1, 1]


@dataclass(frozen=True)
class CountedJudgment:
    """A judgment that counts, or would if it were not excluded. `step` is its order's part of the task's balance."""

    task_id: int
    rater_id: int | None
    step: int = 0


@dataclass(frozen=True)
class TaskPlaces:
    """A task's places: taken by judgments, taken by live leases, and how many there are."""

    n_judgments: int
    n_leases: int
    overlap: int


@dataclass(frozen=True)
class TaskCounterChange:
    """What to add to a task's columns. `overlap` grows where a restored judgment finds its place taken."""

    n_judgments: int
    overlap: int
    order_balance: int


@dataclass
class RaterCounterChange:
    """What to add to a rater's counters; under None, to those of the study's unnamed raters."""

    n_judgments: int = 0
    n_tasks_filled: int = 0


def counter_changes(
    judgments: Iterable[CountedJudgment], places: Mapping[int, TaskPlaces], *, sign: Sign
) -> tuple[dict[int, TaskCounterChange], dict[int | None, RaterCounterChange]]:
    """Per task and per rater what changes when the judgments leave the count (sign −1) or come back (+1).

    A task that stops being full opens again by itself. A restored judgment is always taken back: an exclusion must be
    reversible, and both judgments are valid. If the task has been filled meanwhile its overlap grows to hold them,
    and stays so. Whether a task is full is counted with the rater of one of the judgments that moved it, so that the
    sum over raters stays the number of full tasks.
    """
    by_task: dict[int, list[CountedJudgment]] = defaultdict(list)
    for judgment in judgments:
        by_task[judgment.task_id].append(judgment)
    tasks: dict[int, TaskCounterChange] = {}
    raters: dict[int | None, RaterCounterChange] = defaultdict(RaterCounterChange)
    for task_id, moved in by_task.items():
        tasks[task_id] = _task_counter_change(moved, places[task_id], sign)
        for judgment in moved:
            raters[judgment.rater_id].n_judgments += sign
        raters[moved[-1].rater_id].n_tasks_filled += _became_full(places[task_id], tasks[task_id])
    return tasks, dict(raters)


def _task_counter_change(moved: list[CountedJudgment], places: TaskPlaces, sign: Sign) -> TaskCounterChange:
    change = sign * len(moved)
    needed = places.n_judgments + change + places.n_leases
    return TaskCounterChange(
        n_judgments=change,
        overlap=max(0, needed - places.overlap),
        order_balance=sign * sum(judgment.step for judgment in moved),
    )


def _became_full(places: TaskPlaces, move: TaskCounterChange) -> int:
    """+1 when the task is full after the move and was not before, −1 the other way round."""
    before = places.n_judgments >= places.overlap
    after = places.n_judgments + move.n_judgments >= places.overlap + move.overlap
    return after - before
