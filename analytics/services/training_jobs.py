"""Training a model on a study's votes: what may be asked for. The work itself is in `training_run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Q

from analytics.services.training_material import GROUPS, SYSTEMS, learnable
from annotation import audit
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.services import jobs
from scoring.models import LearnedModel, Scorer, ScoringRun
from scoring.services import learned
from scoring.training import catalogue

KIND = "train"
MOST_REPEATS, MOST_HELD_OUT = 50, 0.5
HELD_OUT_RATERS = 0.2


@transaction.atomic
def start(
    study: Study,
    kind: str,
    options: Mapping[str, Any],
    *,
    actor: User | None,
    repeats: int = 1,
    holdout_raters: float = HELD_OUT_RATERS,
    split: str = GROUPS,
    pseudo: Sequence[str] = (),
) -> LearnedModel:
    """The next version of a kind, whose training a worker takes up. `pseudo`: scorers of this study whose scores are
    learned from before people's votes, by name or digest. Raises InvalidInput."""
    plan: dict[str, Any] = {"repeats": repeats, "holdout_raters": holdout_raters, "split": split}
    if pseudo:
        plan["pseudo"] = [_scorer(study, name).digest for name in pseudo]
    wanted = learned.checked_options(kind, options)
    _refuse_plan(plan)
    if not learnable(study, kind):
        problem = FieldProblem("kind", f"{kind} cannot learn from what this study asks.", _learns_from(kind))
        raise InvalidInput(problem.message, problems=[problem])
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    job = jobs.enqueue(KIND, study=study, params={"model": kind}, actor=actor)
    model = learned.add(study, kind, options=wanted, plan=plan, job=job)
    audit.record("model.trained", actor=actor, study=study, subject=str(model), options=wanted, plan=plan)
    return model


def _scorer(study: Study, name: str) -> Scorer:
    """The version that this study was scored by last, by a scorer's name or the beginning of a version's digest."""
    key, _at, digest = name.rpartition("@")
    runs = (
        ScoringRun.objects.filter(study=study, scorer__isnull=False).select_related("scorer").order_by("-pk")
    )
    named = Q(scorer__key=key, scorer__digest__startswith=digest) if key else Q(scorer__key=name)
    run = runs.filter(named).first()
    if run is None or run.scorer is None:
        problem = FieldProblem(
            "pseudo", f"{name!r} has not scored this study.", "Score the study with it first."
        )
        raise InvalidInput(problem.message, problems=[problem])
    return run.scorer


def _refuse_plan(plan: Mapping[str, Any]) -> None:
    problems = []
    if plan["split"] not in (GROUPS, SYSTEMS):
        problems.append(
            FieldProblem("split", f"There is no split {plan['split']!r}.", "Use groups or systems.")
        )
    if not 1 <= plan["repeats"] <= MOST_REPEATS:
        problems.append(FieldProblem("repeats", f"Give a whole number from 1 to {MOST_REPEATS}."))
    if not 0 <= plan["holdout_raters"] <= MOST_HELD_OUT:
        problems.append(FieldProblem("holdout_raters", f"Give a share from 0 to {MOST_HELD_OUT}."))
    if problems:
        raise InvalidInput(problems[0].message, problems=problems)


def _learns_from(kind: str) -> str:
    if catalogue.trainable(kind).learns is catalogue.Learns.RATINGS:
        return "It learns from ratings of answers in words, one answer at a time."
    return "It learns from preferences between clips, and from ratings of clips."
