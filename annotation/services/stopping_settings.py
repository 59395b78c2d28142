"""Changing when a study stops asking for votes on a pair."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation import audit
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.rules import stopping as rules
from annotation.services import stopping
from annotation.services.protocols import loaded


@transaction.atomic
def set_rule(study: Study, *, actor: User | None, **wanted: Any) -> Study:
    """Change some of the settings; what is not named stays as it is. An empty `question` switches the rule off.

    The next sweep looks at all of the study's tasks, so that the rule holds for the votes there are, too. Raises
    InvalidInput with every fault, and changes nothing then.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    before = study.rules.get("stopping", {})
    then = {"question": "", "threshold": rules.THRESHOLD, **before, **wanted}
    _refuse_faults(study, then)
    changes = {name: [before.get(name), value] for name, value in then.items() if before.get(name) != value}
    if not changes or not (before or then["question"]):
        return study
    study.rules = {**study.rules, "stopping": then}
    study.save(update_fields=["rules"])
    stopping.look_again(study)
    audit.record("study.changed", actor=actor, study=study, stopping=changes)
    return study


def _refuse_faults(study: Study, wanted: dict[str, Any]) -> None:
    questions = rules.eligible_questions(loaded(study.protocol_version_id).spec)
    found = rules.faults(wanted, overlap=study.overlap, questions=questions)
    if found:
        problems = [FieldProblem(fault.field, fault.message) for fault in found]
        raise InvalidInput("These settings cannot be used.", problems=problems)
