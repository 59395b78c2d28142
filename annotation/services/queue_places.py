"""Where new tasks stand in a study's queue."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from annotation.models import Study, Task
from annotation.rules import queue


def places(study: Study, external_ids: Sequence[str]) -> list[float]:
    """The shuffle keys of new tasks: in a study that is worked through as listed, after all there are."""
    if study.order != Study.Order.LISTED:
        return [queue.shuffle_key(study.seed, name) for name in external_ids]
    last = Task.objects.filter(study=study).aggregate(last=Max("shuffle_key"))["last"]
    start = 0.0 if last is None else last + 1
    return [start + position for position in range(len(external_ids))]
