"""A study's own prompts: what its runs say to models in place of the prompts that come along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation import audit
from annotation.errors import NotFound
from annotation.models import Study, User
from scoring.metrics import registry
from scoring.prompts import Prompts, parse, shipped, shipped_names
from scoring.services import orders


def families() -> list[str]:
    """The families of metrics that speak to models in prompts."""
    speaking = (
        entry.name
        for entry in registry.METRICS.values()
        if any(option.name == "prompts" for option in entry.options)
    )
    return sorted({orders.family(name) for name in speaking})


def own(study: Study, family: str) -> Prompts | None:
    definition = study.rules.get("prompts", {}).get(family)
    return parse(definition) if definition else None


def in_use(study: Study, family: str) -> Prompts | None:
    """What runs of this study say from now on; None where no prompts come with the family. Raises NotFound."""
    _check(family)
    return own(study, family) or (shipped(family) if family in shipped_names() else None)


@transaction.atomic
def set_own(study: Study, family: str, definition: Mapping[str, Any] | None, *, actor: User | None) -> Study:
    """Replace a family's prompts for the runs asked for from now on; None goes back to those that come along. Runs
    under way keep theirs, and scores given with other prompts stay: they are another scorer's. Raises InvalidInput,
    NotFound."""
    _check(family)
    if definition is not None:
        orders.check_prompts(definition, field="prompts")
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    before = study.rules.get("prompts", {})
    after = {name: table for name, table in before.items() if name != family}
    if definition is not None:
        after[family] = dict(definition)
    if after != before:
        study.rules = {**study.rules, "prompts": after}
        study.save(update_fields=["rules"])
        audit.record("study.changed", actor=actor, study=study, prompts={family: definition is not None})
    return study


def _check(family: str) -> None:
    if family not in families():
        raise NotFound
