"""A study's quality rules at work: previewed on the work there is, and applied to it as the figures move."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as look_up

from analytics.models import RaterQuality
from analytics.raters import rules as rule_decisions
from analytics.raters.rules import FIGURES, QualityRule, QualityRules, figures_of
from annotation.errors import Conflict, FieldProblem
from annotation.models import Rater, RaterAction, Study, User
from annotation.raters import actions
from annotation.studies.stored_settings import lock_study, save_settings

_COLUMNS = (
    "rater_id", "name", "state", "n_judgments", "details",
    *dict.fromkeys(column for one in FIGURES.values() for column in (one.key, one.n)),
)  # fmt: skip
_EXAMPLES = 12


@dataclass(frozen=True)
class RuleFinding:
    """A rater whose work meets a rule; `acted`: the rule has acted on them before, whatever became of it."""

    rater: int
    name: str
    state: str
    n_judgments: int
    evidence: Sequence[Mapping[str, Any]]
    acted: bool


@dataclass(frozen=True)
class RulePreview:
    """What a rule would do now: `n_raters` meet it, on `n_new` of them it would act. `n_judgments`: of these, that its
    action would exclude. `examples`: some, those on whom it would act first."""

    rule: QualityRule
    n_raters: int
    n_new: int
    n_judgments: int
    examples: tuple[RuleFinding, ...]


def preview(study: Study, rules: QualityRules) -> list[RulePreview]:
    """What these rules, in force or only wanted, find in the work so far; one entry each. Changes nothing."""
    rows = list(_rows(study))
    acted = set(RaterAction.objects.filter(study=study).exclude(rule="").values_list("rater", "rule", "kind"))
    return [_preview_of(rule, rows, acted) for rule in rules.rules]


def _preview_of(
    rule: QualityRule, rows: Sequence[Mapping[str, Any]], acted: set[tuple[int, str, str]]
) -> RulePreview:
    found = [
        RuleFinding(
            row["rater_id"], row["name"], row["state"], row["n_judgments"], rule.evidence(row["figures"]),
            (row["rater_id"], rule.key, rule.action) in acted,
        )
        for row in rows
        if rule.holds(row["figures"])
    ]  # fmt: skip
    new = [one for one in found if _would_act(rule, one)]
    examples = sorted(found, key=lambda one: (not _would_act(rule, one), one.name))[:_EXAMPLES]
    excluded = sum(one.n_judgments for one in new) if rule.action == "exclude_all" else 0
    return RulePreview(rule, len(found), len(new), excluded, tuple(examples))


def _would_act(rule: QualityRule, one: RuleFinding) -> bool:
    """As `annotation.raters.actions` decides."""
    if one.acted or one.state == Rater.State.WITHDRAWN:
        return False
    if rule.action == "exclude_all":
        return one.n_judgments > 0
    return one.state != Rater.State.EXCLUDED and not (
        rule.action == "pause" and one.state == Rater.State.PAUSED
    )


def _rows(study: Study, raters: Collection[int] | None = None) -> Iterator[dict[str, Any]]:
    rows = RaterQuality.objects.filter(study_id=study.pk).exclude(state=Rater.State.WITHDRAWN)
    if raters is not None:
        rows = rows.filter(rater__in=list(raters))
    for row in rows.order_by("rater").values(*_COLUMNS).iterator(chunk_size=2000):
        yield {**row, "figures": figures_of(row)}


def apply_rules(study: Study, raters: Collection[int] | None = None) -> int:
    """Act on whoever meets a rule in force, in the order of the rules; how many actions that were. Whoever a rule has
    acted on before is left alone by it. `raters`: of these; None for all."""
    rules = QualityRules.of(study.rules)
    n = 0
    if rules.in_force and not study.is_read_only:
        acted = set(
            RaterAction.objects.filter(study=study).exclude(rule="").values_list("rater", "rule", "kind")
        )
        for row in list(_rows(study, raters)):
            for rule in rules.in_force:
                if (row["rater_id"], rule.key, rule.action) in acted or not rule.holds(row["figures"]):
                    continue
                n += _act(study, rule, row, recollect=rules.recollect)
    return n + actions.exclude_later_judgments(study, recollect=rules.recollect)


def _act(study: Study, rule: QualityRule, row: Mapping[str, Any], *, recollect: bool) -> int:
    rater = Rater.objects.get(pk=row["rater_id"])
    try:
        action = actions.act(
            rater, rule.action, actor=None, reason=rule.title, message=rule.message, rule=rule.key,
            evidence=rule.evidence(row["figures"]), recollect=recollect,
        )  # fmt: skip
    except Conflict:
        return 0  # they have withdrawn meanwhile
    return 0 if action is None else 1


@transaction.atomic
def set_rules(study: Study, *, actor: User | None, **values: Any) -> Study:
    """Change some of `rules`, `recollect`, `panel` and `minutes`; what is not named stays. A rule that is on acts with
    the next look at the raters' work, seconds later. Raises InvalidInput with every problem, and changes nothing
    then."""
    study = lock_study(study)
    before = QualityRules.of(study.rules).as_json()
    unknown = [
        FieldProblem(name, f"There is no such setting; there are {', '.join(before)}.")
        for name in values
        if name not in before
    ]
    after = {**before, **values}
    problems = unknown or rule_decisions.problems_of(after)
    if not problems:
        after = rule_decisions.from_json(after).as_json()
    save_settings(study, "quality", actor=actor, before=before, after=after, problems=problems)
    return study


def with_preset(rules: QualityRules, preset: str) -> QualityRules:
    """The rules with those of a preset added, switched off, under titles in the reader's language; a rule whose key is
    there is left alone."""
    _title, wanted = rule_decisions.PRESETS[preset]
    known = {rule.key for rule in rules.rules}
    added = tuple(
        QualityRule(rule.key, look_up(rule.title), rule.action, rule.conditions)
        for rule in wanted.rules
        if rule.key not in known
    )
    return replace(rules, rules=(*rules.rules, *added), panel=wanted.panel or rules.panel)
