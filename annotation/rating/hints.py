"""Hints, model predictions shown to raters: a study's settings, stored predictions, and the draw for each rater."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.access import RaterAtWork
from annotation.errors import FieldProblem
from annotation.models import Study, Task, User
from annotation.rating import overlap
from annotation.rating.rules import hints as rules
from annotation.rating.rules.hints import Hints
from annotation.studies.protocols import load_protocol
from annotation.studies.settings import validate
from annotation.studies.stored_settings import lock_study, save_settings

# So few that raters who ask for a task meanwhile find others that are not locked.
_CHUNK = 50


@transaction.atomic
def set_hint_settings(study: Study, *, actor: User | None, **settings: Any) -> Study:
    """Change some of the settings; what is not named stays as it is. An empty `scorer` shows nothing from now on: what
    raters have at hand stays as they first saw it. Raises InvalidInput with every fault."""
    study = lock_study(study)
    before = study.rules.get("hints", {})
    after = {**rules.as_json(study.rules), **settings}
    problems = validate(Hints, after)
    if after["scorer"] and not rules.eligible_questions(load_protocol(study.protocol_version_id).spec):
        problems.append(FieldProblem("scorer", "This study asks nothing that a score could be shown for."))
    never_on = not (before or after["scorer"])
    save_settings(
        study, "hints", actor=actor, before=before, after={} if never_on else after, problems=problems
    )
    return study


def is_hint_shown(rater: RaterAtWork, task_id: int) -> bool | None:
    """Whether this rater sees what a model says of this task; None in a study that shows nothing, and for
    simulated raters."""
    if rater.hints_withheld is None:
        return None
    return rules.is_hint_shown(
        rater.hints_withheld, seed=rater.seed, rater_id=rater.rater_id, task_id=task_id
    )


def store_hints(study: Study, predictions: Mapping[int, Mapping[str, Any] | None]) -> int:
    """Store what a model says of each of these tasks, None for nothing, a few tasks at a time. Returns how many have
    changed. Assignments keep what was said when they were handed out."""
    rows = {pk: None if hint is None else json.dumps(hint) for pk, hint in predictions.items()}
    return overlap.update_column(study, "hint", rows, type="jsonb", chunk=_CHUNK)


def clear_hints(study: Study, *, unless_by: str = "") -> int:
    """Take away what is said of a study's tasks, unless this scorer said it. Returns how many have changed."""
    hinted = Task.objects.filter(study=study, hint__isnull=False).exclude(hint__scorer=unless_by)
    return store_hints(study, dict.fromkeys(hinted.values_list("pk", flat=True)))
