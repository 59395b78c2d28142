"""Prescoring: new and corrected items are scored by the scorers that the study names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.errors import Conflict, InvalidInput
from annotation.models import ItemVersion, Study, User
from annotation.studies import audit
from scoring.runs import scoring_runs, validation


def prescore_imported(study: Study, *, actor: User | None) -> None:
    """Ask for the study's runs, in the import's transaction. They take what is not scored yet. One that is under way
    may have looked for its rows before the import was there to see, so only one that has not looked is joined."""
    for entry in study.rules.get("prescore", []):
        try:
            options = validation.validate_options(study, entry["metric"], entry["options"])
        except InvalidInput as error:
            # A setting that has gone out of use is no reason to refuse somebody's items.
            audit.record(
                "scoring.not_requested", actor=actor, study=study, subject=entry["metric"], why=str(error)
            )
            continue
        scoring_runs.create_or_join(study, entry["metric"], options, actor=actor)


def prescore_corrected(version: ItemVersion, *, rewrite: bool, actor: User | None) -> None:
    """As after an import: the answers that were carried over are answers to another text now."""
    prescore_imported(Study.objects.get(pk=version.item.study_id), actor=actor)


@transaction.atomic
def set_prescore(study: Study, entries: Sequence[Mapping[str, Any]], *, actor: User | None) -> Study:
    """Name the scorers that new items get by themselves: [{"metric": name, "options": {…}}]. Raises InvalidInput."""
    stored = []
    for number, each in enumerate(entries):
        if set(each) - {"metric", "options"} or not isinstance(each.get("metric"), str):
            field, summary = f"prescore[{number}]", "This is no list of scorers."
            raise InvalidInput.of_field(field, "Give a metric and its options.", summary=summary)
        validation.validate_options(study, each["metric"], each.get("options") or {})
        # As given: a default that changes, or the study's prompts, hold for later imports.
        stored.append({"metric": each["metric"], "options": dict(each.get("options") or {})})
    return save_study_rule(
        lock_study(study), "prescore", stored, actor=actor, logged=[each["metric"] for each in stored]
    )


@transaction.atomic
def add_prescore(study: Study, metric: str, options: Mapping[str, Any], *, actor: User | None) -> Study:
    """Let new items get one more scorer; the same one a second time changes nothing. Raises InvalidInput."""
    study, entry = lock_study(study), {"metric": metric, "options": dict(options)}
    entries = study.rules.get("prescore", [])
    return study if entry in entries else set_prescore(study, [*entries, entry], actor=actor)


@transaction.atomic
def remove_prescore(study: Study, number: int, metric: str, *, actor: User | None) -> Study:
    """Take the scorer at a place of the list out of it. Raises Conflict where it is not there any more."""
    study = lock_study(study)
    entries = study.rules.get("prescore", [])
    if not 0 <= number < len(entries) or entries[number]["metric"] != metric:
        raise Conflict("This list has changed meanwhile: look again.", code="changed_meanwhile")
    left = [*entries[:number], *entries[number + 1 :]]
    return save_study_rule(study, "prescore", left, actor=actor, logged=[each["metric"] for each in left])


def lock_study(study: Study) -> Study:
    return Study.objects.select_for_update(no_key=True).get(pk=study.pk)


def save_study_rule(study: Study, name: str, value: Any, *, actor: User | None, logged: list[str]) -> Study:
    if study.rules.get(name) != value:
        study.rules = {**study.rules, name: value}
        study.save(update_fields=["rules"])
        data: dict[str, Any] = {name: logged}
        audit.record("study.changed", actor=actor, study=study, **data)
    return study
