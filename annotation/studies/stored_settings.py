"""Changing study settings: locked, validated, stored in the study's `rules` and written to the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.studies import audit


def lock_study(study: Study) -> Study:
    """The study as it is now, locked until the transaction ends."""
    return Study.objects.select_for_update(no_key=True).get(pk=study.pk)


def save_settings(
    study: Study,
    group: str,
    *,
    actor: User | None,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    problems: Sequence[FieldProblem],
    stored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Store a group of settings of a locked study. Returns {name: [before, after]} of those that changed.

    `stored` is what `rules` holds, where that is not all of `after`. Raises InvalidInput with every problem, and
    changes nothing then.
    """
    if problems:
        raise InvalidInput("These settings cannot be used.", problems=problems)
    changes = {
        name: [before.get(name), after.get(name)]
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    }
    if changes:
        study.rules = {**study.rules, group: dict(after if stored is None else stored)}
        study.save(update_fields=["rules"])
        data: dict[str, Any] = {group: changes}
        audit.record("study.changed", actor=actor, study=study, **data)
    return changes
