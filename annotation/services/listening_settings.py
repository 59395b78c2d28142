"""Changing what a study asks of listening."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation import audit
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.rules.listening import MINIMUMS, ListeningRules, faults, with_earlier


@transaction.atomic
def set_rules(study: Study, *, actor: User | None, **wanted: Any) -> Study:
    """Change some of the settings; what is not named stays as it is.

    Loudness is part of the instrument: votes given with and without it are not of one kind, so it is fixed once the
    study has begun. Other minimums hold for the tasks handed out from now on: a vote on an earlier one needs no more
    than was asked when its rater began. The rest holds for the tasks that are open at this moment, too.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    rules = ListeningRules.of(study.rules)
    before = asdict(rules)
    problems = [FieldProblem(fault.field, fault.message) for fault in faults({**before, **wanted})]
    begun = study.state != Study.State.DRAFT
    if begun and wanted.get("loudness", before["loudness"]) != before["loudness"]:
        problems += [FieldProblem("loudness", "Loudness can be chosen only while the study is a draft.")]
    if problems:
        raise InvalidInput("These settings cannot be used.", problems=problems)
    changes = {name: [before[name], value] for name, value in wanted.items() if before[name] != value}
    if changes:
        if begun and changes.keys() & set(MINIMUMS):
            study.rules = with_earlier(study.rules, before=rules, until=timezone.now())
        study.rules = {**study.rules, "listening": {**study.rules.get("listening", {}), **wanted}}
        study.save(update_fields=["rules"])
        audit.record("study.changed", actor=actor, study=study, listening=changes)
    return study
