"""A study's own prompts for its scorers, or the shipped ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.errors import InvalidInput, NotFound
from annotation.models import Study, User
from scoring.metrics import registry
from scoring.policies.prescoring import lock_study, save_study_rule
from scoring.prompts import Prompts, parse, shipped, shipped_names
from scoring.runs import validation


@transaction.atomic
def set_prompts(
    study: Study, scorer: str, definition: Mapping[str, Any] | None, *, actor: User | None
) -> Study:
    """Give a scorer, and its sibling for pairs, a study's own prompts (a prompt file as parsed); None takes them back.
    They hold for runs asked for from now on. Raises InvalidInput."""
    family = validation.metric_family(scorer)
    if definition is not None:
        validation.check_prompts(definition, family, field="prompts")
    families = {validation.metric_family(name) for name in registry.METRICS}
    if family not in families:
        remedy, summary = f"Use {', '.join(sorted(families))}.", "These prompts belong to no scorer."
        raise InvalidInput.of_field("scorer", f"There is no scorer {scorer!r}.", remedy, summary=summary)
    study = lock_study(study)
    prompts = {**study.rules.get("prompts", {})}
    prompts.pop(family, None)
    if definition is not None:
        prompts[family] = dict(definition)
    return save_study_rule(study, "prompts", prompts, actor=actor, logged=sorted(prompts))


def prompt_families() -> list[str]:
    """The families of metrics that speak to models in prompts."""
    speaking = (
        entry.name
        for entry in registry.METRICS.values()
        if any(option.name == "prompts" for option in entry.options)
    )
    return sorted({validation.metric_family(name) for name in speaking})


def check_family(family: str) -> None:
    """Raises NotFound for a name, as an address may hold it, that no metric goes by."""
    if family not in prompt_families():
        raise NotFound


def own_prompts(study: Study, family: str) -> Prompts | None:
    definition = study.rules.get("prompts", {}).get(family)
    return parse(definition) if definition else None


def prompts_in_use(study: Study, family: str) -> Prompts | None:
    """The prompts of runs requested from now on; None where no prompts come with the family."""
    return own_prompts(study, family) or (shipped(family) if family in shipped_names() else None)
