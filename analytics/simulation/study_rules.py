"""The quality rules of a simulation while its raters work: they act without waiting for a worker's sweep."""

from __future__ import annotations

from dataclasses import replace

from analytics.raters import automation, quality
from analytics.raters.rules import QualityRules
from annotation.models import Study


def apply(study: Study) -> None:
    """Bring the raters' figures up to date, and do what the rules in force say."""
    quality.refresh(study.pk)


def put_in_force(study: Study, preset: str) -> Study:
    """The rules of a preset, all switched on, in place of the study's own."""
    rules = automation.with_preset(QualityRules(), preset)
    in_force = replace(rules, rules=tuple(replace(rule, on=True) for rule in rules.rules))
    return automation.set_rules(study, actor=None, **in_force.as_json())
