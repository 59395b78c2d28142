"""What a training set would be: its first rows and the sizes of its splits, with nothing written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any

from analytics.records import judged_tasks
from analytics.records.moment import one_moment
from analytics.services import training_sets
from analytics.training_sets import making
from analytics.training_sets.contract import Row
from analytics.training_sets.grouping import PARTS
from analytics.training_sets.options import Options, TrainingSetError
from annotation.errors import InvalidInput
from annotation.models import Study

MOST_TASKS = 1000
ROWS = 3


@dataclass(frozen=True)
class Table:
    """`sizes` by split; `first`: the first rows, of whichever splits."""

    name: str
    sizes: dict[str, int]
    first: list[Row]


@dataclass(frozen=True)
class Preview:
    """Of the first `tasks` of `tasks_in_all`; where there are more, all figures are of these alone."""

    columns: tuple[str, ...]
    tables: list[Table]
    left_out: dict[str, int]
    groups: int
    tasks: int
    tasks_in_all: int


def preview(study: Study, options: Options) -> Preview:
    """Raises InvalidInput as making it would."""
    ordered = training_sets.order(study, options)
    try:
        with one_moment():
            return _preview(ordered)
    except TrainingSetError as error:
        raise InvalidInput(str(error), code=error.code) from error


def _preview(ordered: training_sets.Order) -> Preview:
    tasks = list(islice(ordered.tasks(), MOST_TASKS))
    found = making.survey(tasks, ordered.options, ordered.questions)
    made = making.making_of(ordered.options, found)
    names = list(making.tables(ordered.format, ordered.questions))
    sizes: dict[str, Counter[str]] = {name: Counter() for name in names}
    first: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for table, part, row in making.rows(tasks, found, ordered.format, made, ordered.questions):
        sizes[table][part] += 1
        if len(first[table]) < ROWS:
            first[table].append(row)
    return Preview(
        columns=tuple(column.name for column in ordered.format.columns),
        tables=[Table(name, {part: sizes[name][part] for part in PARTS}, first[name]) for name in names],
        left_out={reason: n for reason, n in sorted(made.left_out.items()) if n},
        groups=found.groups,
        tasks=len(tasks),
        tasks_in_all=len(tasks)
        if len(tasks) < MOST_TASKS
        else judged_tasks.count(ordered.study, ordered.wanted),
    )
