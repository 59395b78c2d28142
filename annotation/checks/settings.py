"""A study's settings of hidden checks."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.checks import rules
from annotation.checks.rules import Injection
from annotation.errors import FieldProblem
from annotation.models import Study, User
from annotation.protocols import Protocol
from annotation.studies.protocols import load_protocol
from annotation.studies.settings import declared
from annotation.studies.stored_settings import lock_study, save_settings


@transaction.atomic
def set_injection(study: Study, *, actor: User | None, **settings: Any) -> Study:
    """Change some of the settings; what is not named stays as it is. They hold from the next task that anybody gets.
    Raises InvalidInput with every problem, and changes nothing then."""
    study = lock_study(study)
    before = rules.as_json(study.rules)
    after = {**before, **settings}
    problems = rules.validate_injection(after)
    if not problems and after["identical"] and not can_pair(load_protocol(study.protocol_version_id).spec):
        text = "This study shows no two candidates side by side, so it has no identical pairs: give 0."
        problems.append(FieldProblem("identical", text))
    stored = {name: value for name, value in after.items() if value != declared(Injection)[name].default}
    save_settings(
        study, "injection", actor=actor, before=before, after=after, problems=problems, stored=stored
    )
    return study


def can_pair(protocol: Protocol) -> bool:
    return protocol.layout == "comparison"
