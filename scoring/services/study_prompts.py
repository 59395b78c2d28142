"""Which prompts a study's runs put to models: its own, or those that come along. They are changed in `study_models`."""

from __future__ import annotations

from annotation.errors import NotFound
from annotation.models import Study
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


def check_family(family: str) -> None:
    """Raises NotFound for a name, as an address may hold it, that no metric goes by."""
    if family not in families():
        raise NotFound


def own(study: Study, family: str) -> Prompts | None:
    definition = study.rules.get("prompts", {}).get(family)
    return parse(definition) if definition else None


def in_use(study: Study, family: str) -> Prompts | None:
    """What runs asked for from now on say; None where no prompts come with the family."""
    return own(study, family) or (shipped(family) if family in shipped_names() else None)
