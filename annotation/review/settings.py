"""Changes of a study's review settings and flag rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import transaction

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.review import flag_rules, flagging, rules
from annotation.review.flag_rules import FlagRules
from annotation.review.rules import ReviewSettings
from annotation.studies import audit
from annotation.studies.protocols import load_protocol


@transaction.atomic
def change_review_settings(
    study: Study, *, actor: User | None, flags: Mapping[str, Mapping[str, Any]] | None = None, **wanted: Any
) -> Study:
    """Change some settings (`ReviewSettings`' names) and some of the rules (`flags`: {rule: {name: value}}).

    What is not named stays. New rules hold for all of the study's votes: the next sweep looks at all of them. Cases
    that are open stay open. Raises InvalidInput with every fault (`flags.codes.min_raters`), and changes nothing then.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    flags = flags or {}
    _refuse_invalid(study, flags, wanted)
    settings, rules = asdict(ReviewSettings.of(study.rules)), FlagRules.of(study.rules)
    changes = {name: [settings[name], value] for name, value in wanted.items() if settings[name] != value}
    before, after = rules.as_json(), rules.changed(flags).as_json()
    changed_rules = {key: [before[key], after[key]] for key in after if before[key] != after[key]}
    if not changes and not changed_rules:
        return study
    stated = study.rules.get("review", {})
    flag_values = {**stated.get("flags", {}), **{key: after[key] for key in changed_rules}}
    study.rules = {**study.rules, "review": {**stated, **wanted, "flags": flag_values}}
    study.save(update_fields=["rules"])
    if changed_rules:
        flagging.reset_sweep(study)
    audit.record("study.changed", actor=actor, study=study, review={**changes, **changed_rules})
    return study


def flag_rule_problems(study: Study, flags: Mapping[str, Any]) -> list[FieldProblem]:
    """What is wrong with rules that somebody wants for this study; empty where they can be previewed and used."""
    codes = load_protocol(study.protocol_version_id).spec.code_keys if study.protocol_version_id else ()
    return [
        FieldProblem(fault.field, fault.message)
        for fault in flag_rules.validate_flag_rules(flags, codes=codes)
    ]


def _refuse_invalid(study: Study, flags: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    problems = [FieldProblem(fault.field, fault.message) for fault in rules.validate_settings(wanted)]
    problems += flag_rule_problems(study, flags)
    if problems:
        raise InvalidInput("These settings cannot be used.", problems=problems)
