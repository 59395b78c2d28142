"""The simulation's priorities are those that a study reckons in its database."""

from __future__ import annotations

import numpy as np
import pytest
from django.utils import timezone

from annotation.rating import task_selection
from annotation.rating.rules.ordering import Ordering
from benchmarks.order_savings import priorities
from scoring.models import Score, Scorer, ScoringRun
from scoring.policies import priorities as stored
from tests import factories
from tests.analytics.votes import vote


@pytest.mark.django_db
def test_both_ways_of_reckoning_agree() -> None:
    rng = np.random.default_rng(5)
    study = factories.StudyFactory.create(preset="cmi-pref", overlap=9)
    tasks = [factories.comparison_task(study, f"task-{n}") for n in range(10)]
    scorer = Scorer.objects.create(key="cmi-rm", digest="d" * 64)
    ScoringRun.objects.create(
        study=study, scorer=scorer, metric="cmi-rm", state="done", finished_at=timezone.now()
    )
    margins = np.append(rng.normal(0, 1.5, 9), 0.0)
    first, second = rng.integers(0, 4, (2, 10))
    first[2] = second[2] = 0
    for task, margin, wins, losses in zip(tasks, margins, first, second, strict=True):
        for slot, value in zip(task.slots.order_by("slot"), (margin, 0.0), strict=True):
            Score.objects.create(
                scorer=scorer, candidate_id=slot.candidate_id, value=value, output="alignment"
            )
        for choice in [1] * wins + [2] * losses:
            vote(task, question="alignment", choice=choice)
    weights = Ordering(uncertainty=0.5, disagreement=0.3, coverage=0.9)
    given = {name: getattr(weights, name) for name in ("uncertainty", "disagreement", "coverage")}
    stored.refresh(task_selection.set_ordering(study, actor=None, scorer=scorer.digest, **given))
    found = dict(study.tasks.values_list("external_id", "priority"))
    wanted = priorities(weights, margins=margins, first=first, second=second)
    # Rounding to hundredths may fall either way.
    assert [found[f"task-{n}"] for n in range(10)] == pytest.approx(wanted.tolist(), abs=1.01e-2)
