"""Where new tasks stand in a study's queue."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from annotation.models import Study, Task
from annotation.rules import queue


def places(study: Study, external_ids: Sequence[str], *, start: float | None = None) -> list[float]:
    """The shuffle keys of new tasks: in a study that is worked through as listed, after all there are. `start` is what
    `free_place` gave, where it is known."""
    if study.order != Study.Order.LISTED:
        return [queue.shuffle_key(study.seed, name) for name in external_ids]
    start = free_place(study) if start is None else start
    return [start + position for position in range(len(external_ids))]


def free_place(study: Study) -> float:
    """The first place behind all there are."""
    last: float | None = Task.objects.filter(study=study).aggregate(last=Max("shuffle_key"))["last"]
    return 0.0 if last is None else last + 1
