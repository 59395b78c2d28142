"""Scorers that have scored a study, without a model; versions that were trained on it; rules that name them."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.models import Job, Study, Task
from annotation.rating import task_selection
from annotation.review import settings
from scoring.models import LearnedModel, Score, Scorer, ScoringRun
from scoring.policies import priorities


def scored_by(study: Study, key: str, digest: str = "", **config: Any) -> Scorer:
    scorer = Scorer.objects.create(key=key, digest=f"{digest or key:0<64}", config=config)
    ScoringRun.objects.create(
        study=study, scorer=scorer, metric=key, state="done", finished_at=timezone.now()
    )
    return scorer


def score(scorer: Scorer, task: Task, **outputs: tuple[float, ...]) -> None:
    """Each output's scores of a task's candidates, in the order of their slots."""
    for slot in task.slots.all():
        for output, values in outputs.items():
            Score.objects.create(
                scorer=scorer, candidate_id=slot.candidate_id, output=output, value=values[slot.slot]
            )


def score_pair(scorer: Scorer, task: Task, value: float, *, swapped: bool = False) -> None:
    """A score of a task's two candidates together, named either way round."""
    pair = list(task.slots.order_by("slot").values_list("candidate_id", flat=True))
    first, other = pair[::-1] if swapped else pair
    Score.objects.create(scorer=scorer, candidate_id=first, other_id=other, value=value)


def version_of(study: Study, scorer: Scorer, **fields: Any) -> LearnedModel:
    """A version of the study's own model, which opens as that scorer."""
    job = Job.objects.create(study=study, kind="train")
    return LearnedModel.objects.create(
        study=study, kind=scorer.key, number=1, job=job, scorer=scorer, **fields
    )


def flag_conflicts(study: Study, scorer: str, **values: Any) -> Study:
    """Let the study flag conflicts with this scorer, and nothing else."""
    others = ("codes", "disagreement", "low_confidence", "failed_gold")
    rule = {"on": True, "scorer": scorer, **values}
    flags = {**{key: {"on": False} for key in others}, "model_conflict": rule}
    return settings.change_review_settings(study, actor=None, flags=flags)


def by(study: Study, scorer: str = "", **weights: float) -> dict[str, float]:
    """The priorities of the open tasks under these weights, all others zero."""
    none = {"uncertainty": 0.0, "disagreement": 0.0, "coverage": 0.0}
    priorities.refresh(task_selection.set_ordering(study, actor=None, scorer=scorer, **{**none, **weights}))
    return dict(study.tasks.filter(wants_more=True).values_list("external_id", "priority"))
