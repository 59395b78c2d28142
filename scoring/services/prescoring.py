"""Scoring what an import or a correction has brought, where the study says so."""

from __future__ import annotations

from annotation import audit
from annotation.errors import InvalidInput
from annotation.models import ItemVersion, Study, User
from scoring.services import orders, runs


def after_import(study: Study, *, actor: User | None) -> None:
    """Ask for the study's runs, in the import's transaction. They take what is not scored yet. One that is under way
    may have looked for its rows before the import was there to see, so only one that has not looked is joined."""
    for wanted in study.rules.get("prescore", []):
        try:
            options = orders.checked_options(study, wanted["metric"], wanted["options"])
        except InvalidInput as error:
            # A setting that has gone out of use is no reason to refuse somebody's items.
            audit.record(
                "scoring.not_requested", actor=actor, study=study, subject=wanted["metric"], why=str(error)
            )
            continue
        runs.create_or_join(study, wanted["metric"], options, actor=actor)


def after_correction(version: ItemVersion, *, rewrite: bool, actor: User | None) -> None:
    """As after an import: the answers that were carried over are answers to another text now."""
    after_import(Study.objects.get(pk=version.item.study_id), actor=actor)
