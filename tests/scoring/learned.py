"""Versions of learned models as a training leaves them, without a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.models import Job, Study
from scoring.models import LearnedModel, Scorer

FIGURES = {"SRCC": {"mean": 0.71, "sd": 0.02, "n": 5}, "accuracy": {"mean": 0.8, "sd": None, "n": 1}}


def learned(
    study: Study,
    kind: str = "orca",
    *,
    state: str = Job.State.DONE,
    items: Sequence[int] = (),
    raters: Sequence[str] = (),
    record: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
    **fields: Any,
) -> LearnedModel:
    """The next version of its kind. One that is done has a scorer, a record and curves; `job` are the job's fields."""
    number = LearnedModel.objects.filter(study=study, kind=kind).count() + 1
    made = Job.objects.create(kind="train", study=study, state=state, **(job or {}))
    if state == Job.State.DONE:
        digest = f"{number}{study.pk}".ljust(64, "a")
        scorer = Scorer.objects.create(key=kind, digest=digest, config={"checkpoint": f"v{number}"})
        held = {"items": list(items), "raters": list(raters)}
        kept = {
            "data_sha256": "d" * 64, "seed": 7, "options": {"encoder": "built-in"},
            "plan": {"repeats": 5, "holdout_raters": 0.2, "split": "groups"},
            "counts": {"train_votes": 80, "dev_votes": 10, "test_votes": 10}, "held_out": held, "figures": FIGURES,
            "baselines": {"MAE of the mean, one value for all": {"mean": 0.1, "sd": 0.0, "n": 5}},
            "ceiling": {"SRCC, one rater against the others": {"mean": 0.9, "sd": 0.01, "n": 5}},
            "trained": {"steps": 100}, "hardware": {"device": "cpu"}, "seconds": 61.5, "peak_memory_mb": 512.0,
            "versions": {"torch": "2.13.0"},
        }  # fmt: skip
        fields = {
            "scorer": scorer,
            "record": {**kept, **(record or {})},
            "curves": {
                "train loss": [[1, 1.5], [50, 0.9], [100, 0.7]],
                "dev spearman": [[50, 0.5], [100, 0.7]],
            },
            "folder": f"learned/{study.slug}/{kind}-{number}",
            **fields,
        }
    return LearnedModel.objects.create(study=study, kind=kind, number=number, job=made, **fields)
