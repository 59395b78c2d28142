"""Where votes come from that are no plain sample of what people say: simulated ones, and tasks that a policy chose."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F

from annotation.models import Judgment, OrderingPolicy, Study, Task


@dataclass(frozen=True)
class Origins:
    """Of judgments that count: how many are simulated, and of how many a policy chose the task. `short`: where it chose
    some, the tasks with fewer judgments than they want."""

    simulated: int
    ordered: int
    short: int


def origins(study: Study) -> Origins:
    counted = Judgment.objects.filter(
        study=study, effective=True, excluded=False, surplus=False, task__kind=Task.Kind.REGULAR
    ).exclude(origin=Judgment.Origin.EXPERT)
    simulated = counted.filter(origin=Judgment.Origin.SIMULATED).count()
    # Most studies never had a policy: no assignment of theirs is looked at.
    ordered = 0
    if OrderingPolicy.objects.filter(study=study).exists():
        ordered = counted.filter(assignment__policy__isnull=False).count()
    short = Task.objects.filter(
        study=study, kind=Task.Kind.REGULAR, state=Task.State.READY, n_judgments__lt=F("overlap")
    )
    return Origins(simulated, ordered, short.count() if ordered else 0)
