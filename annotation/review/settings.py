"""Changes of a study's review settings and flag rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import transaction

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from annotation.review import flag_rules, flagging
from annotation.review.flag_rules import FlagRules
from annotation.review.rules import ReviewSettings
from annotation.studies.protocols import load_protocol
from annotation.studies.settings import validate
from annotation.studies.stored_settings import lock_study, save_settings


@transaction.atomic
def change_review_settings(
    study: Study, *, actor: User | None, flags: Mapping[str, Mapping[str, Any]] | None = None, **settings: Any
) -> Study:
    """Change some settings (`ReviewSettings`' names) and some of the rules (`flags`: {rule: {name: value}}).

    What is not named stays. New rules hold for all of the study's votes: the next sweep looks at all of them. Cases
    that are open stay open. Raises InvalidInput with every fault (`flags.codes.min_raters`), and changes nothing then.
    """
    study, flags = lock_study(study), flags or {}
    problems = [*validate(ReviewSettings, settings), *flag_rule_problems(study, flags)]
    if problems:  # before the flag rules are read: they must be valid
        raise InvalidInput("These settings cannot be used.", problems=problems)
    stored, rules = study.rules.get("review", {}), FlagRules.of(study.rules)
    flags_before, flags_after = rules.as_json(), rules.changed(flags).as_json()
    changed_flags = {key: rule for key, rule in flags_after.items() if rule != flags_before[key]}
    before = {**asdict(ReviewSettings.of(study.rules)), **flags_before}
    save_settings(
        study,
        "review",
        actor=actor,
        before=before,
        after={**before, **settings, **changed_flags},
        problems=problems,
        stored={**stored, **settings, "flags": {**stored.get("flags", {}), **changed_flags}},
    )
    if changed_flags:
        flagging.reset_sweep(study)
    return study


def flag_rule_problems(study: Study, flags: Mapping[str, Any]) -> list[FieldProblem]:
    """The problems of changed flag rules of this study; empty where they can be previewed and used."""
    codes = load_protocol(study.protocol_version_id).spec.code_keys if study.protocol_version_id else ()
    return flag_rules.validate_flag_rules(flags, codes=codes)
