"""What a study says about models: its own prompts, and what scores new items when they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation import audit
from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.models import Study, User
from scoring.metrics import registry
from scoring.services import orders


@transaction.atomic
def set_prompts(
    study: Study, scorer: str, definition: Mapping[str, Any] | None, *, actor: User | None
) -> Study:
    """Give a scorer, and its sibling for pairs, a study's own prompts (a prompt file as parsed); None takes them back.
    They hold for runs asked for from now on. Raises InvalidInput."""
    if definition is not None:
        orders.check_prompts(definition, orders.family(scorer), field="prompts")
    families = {orders.family(name) for name in registry.METRICS}
    if orders.family(scorer) not in families:
        problem = FieldProblem(
            "scorer", f"There is no scorer {scorer!r}.", f"Use {', '.join(sorted(families))}."
        )
        raise InvalidInput("These prompts belong to no scorer.", problems=[problem])
    study = _locked(study)
    prompts = {**study.rules.get("prompts", {})}
    prompts.pop(orders.family(scorer), None)
    if definition is not None:
        prompts[orders.family(scorer)] = dict(definition)
    return _keep(study, "prompts", prompts, actor=actor, told=sorted(prompts))


@transaction.atomic
def set_prescore(study: Study, wanted: Sequence[Mapping[str, Any]], *, actor: User | None) -> Study:
    """Name the scorers that new items get by themselves: [{"metric": name, "options": {…}}]. Raises InvalidInput."""
    kept = []
    for number, each in enumerate(wanted):
        if set(each) - {"metric", "options"} or not isinstance(each.get("metric"), str):
            problem = FieldProblem(f"prescore[{number}]", "Give a metric and its options.")
            raise InvalidInput("This is no list of scorers.", problems=[problem])
        orders.checked_options(study, each["metric"], each.get("options") or {})
        # As given: a default that changes, or the study's prompts, hold for later imports.
        kept.append({"metric": each["metric"], "options": dict(each.get("options") or {})})
    return _keep(_locked(study), "prescore", kept, actor=actor, told=[each["metric"] for each in kept])


@transaction.atomic
def add_prescore(study: Study, metric: str, options: Mapping[str, Any], *, actor: User | None) -> Study:
    """Let new items get one more scorer; the same one a second time changes nothing. Raises InvalidInput."""
    study, wanted = _locked(study), {"metric": metric, "options": dict(options)}
    there = study.rules.get("prescore", [])
    return study if wanted in there else set_prescore(study, [*there, wanted], actor=actor)


@transaction.atomic
def remove_prescore(study: Study, number: int, metric: str, *, actor: User | None) -> Study:
    """Take the scorer at a place of the list out of it. Raises Conflict where it is not there any more."""
    study = _locked(study)
    there = study.rules.get("prescore", [])
    if not 0 <= number < len(there) or there[number]["metric"] != metric:
        raise Conflict("This list has changed meanwhile: look again.", code="changed_meanwhile")
    left = [*there[:number], *there[number + 1 :]]
    return _keep(study, "prescore", left, actor=actor, told=[each["metric"] for each in left])


def _locked(study: Study) -> Study:
    return Study.objects.select_for_update(no_key=True).get(pk=study.pk)


def _keep(study: Study, name: str, value: Any, *, actor: User | None, told: list[str]) -> Study:
    if study.rules.get(name) != value:
        study.rules = {**study.rules, name: value}
        study.save(update_fields=["rules"])
        data: dict[str, Any] = {name: told}
        audit.record("study.changed", actor=actor, study=study, **data)
    return study
