"""Quality rules: who meets them, what a preview says, and that they act as it said."""

from __future__ import annotations

import pytest

from analytics.models import RaterQuality
from analytics.raters import automation, quality
from analytics.raters.rules import (
    FIGURES,
    PRESETS,
    Condition,
    Measured,
    QualityRule,
    QualityRules,
    may_reject,
    problems_of,
)
from annotation.errors import InvalidInput
from annotation.models import Rater, RaterAction
from annotation.raters import actions
from tests.analytics.votes import vote
from tests.factories import StudyFactory, UserFactory, rater, rating_task

FAILS = {"key": "checks", "title": "Fails checks", "action": "pause", "on": True,
         "conditions": [{"figure": "check_accuracy", "side": "below", "value": 0.6, "least_n": 5}]}  # fmt: skip
SAME = {"key": "same", "title": "Always 3", "action": "exclude_all", "on": True,
        "conditions": [{"figure": "variance", "side": "below", "value": 0.1, "least_n": 10}]}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "n", "interval", "surely", "holds"),
    [
        (0.5, 5, None, False, True),
        (0.5, 4, None, False, False),
        (0.6, 5, None, False, False),
        (None, 0, None, False, False),
        (0.5, 5, (0.2, 0.8), True, False),
        (0.1, 50, (0.05, 0.3), True, True),
    ],
    ids=["below", "too few", "at the threshold", "nothing", "not surely", "surely"],
)
def test_a_condition_holds_below_its_value_with_enough_to_rest_on(value, n, interval, surely, holds):
    condition = Condition("check_accuracy", "below", 0.6, 5, surely)
    assert condition.holds({"check_accuracy": Measured(value, n, interval)}) is holds


def test_all_conditions_have_to_hold():
    rule = QualityRule(
        "k", "t", "warn", (Condition("n_failed", "above", 1, 1), Condition("hasty", "above", 0.5, 1))
    )
    failed = Measured(2, 3)
    assert rule.holds({"n_failed": failed, "hasty": Measured(0.9, 9)})
    assert not rule.holds({"n_failed": failed, "hasty": Measured(0.1, 9)})
    assert not QualityRule("k", "t", "warn", ()).holds({})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"action": "shoot"}, "rules[0].action"),
        ({"title": ""}, "rules[0].title"),
        ({"key": "A b"}, "rules[0].key"),
        ({"conditions": []}, "rules[0].conditions"),
        ({"conditions": [{"figure": "charm", "side": "below", "value": 1}]}, "rules[0].conditions[0].figure"),
        ({"conditions": [{"figure": "hasty", "side": "below", "value": 120}]}, "rules[0].conditions[0].value"),
        ({"conditions": [{"figure": "hasty", "side": "left", "value": 0.5}]}, "rules[0].conditions[0].side"),
        ({"conditions": [{"figure": "hasty", "side": "below", "value": 0.5, "least_n": 0}]},
         "rules[0].conditions[0].least_n"),
    ],
)  # fmt: skip
def test_bad_rules_are_refused_by_field(change, field):
    assert [one.field for one in problems_of({"rules": [{**FAILS, **change}]})] == [field]


@pytest.mark.parametrize(
    ("n_failed", "minutes", "may"),
    [(1, 10, False), (2, 10, True), (1, 5, True), (0, 5, False), (1, 5.1, False)],
)
def test_prolific_lets_nobody_be_rejected_for_one_failed_check_in_a_long_study(n_failed, minutes, may):
    assert may_reject(n_failed=n_failed, minutes=minutes) is may


def test_rules_of_a_prolific_study_end_nobodys_work_for_less():
    prolific = {"panel": "prolific", "minutes": 10}
    assert "2 failed checks" in problems_of({**prolific, "rules": [FAILS]})[0].message
    enough = {"figure": "n_failed", "side": "above", "value": 1, "least_n": 1}
    assert not problems_of({**prolific, "rules": [{**FAILS, "conditions": [enough]}]})
    once = {**enough, "value": 0}
    assert problems_of({**prolific, "rules": [{**FAILS, "conditions": [once]}]})
    assert not problems_of({**prolific, "minutes": 5, "rules": [{**FAILS, "conditions": [once]}]})
    assert not problems_of({**prolific, "rules": [{**FAILS, "action": "warn"}]})


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_valid_with_every_rule_switched_on(preset):
    values = automation.with_preset(QualityRules(), preset).as_json()
    assert problems_of({**values, "rules": [{**one, "on": True} for one in values["rules"]]}) == []
    assert not any(one["on"] for one in values["rules"])
    columns = {field.name for field in RaterQuality._meta.concrete_fields}
    assert {name for one in FIGURES.values() for name in (one.key, one.n)} <= columns


@pytest.fixture
def study(db):
    """Two who rate, and one who always gives 3."""
    study = StudyFactory(overlap=3)
    people = [rater(study) for _ in range(3)]
    for n in range(15):
        task = rating_task(study, f"task-{n}")
        for number, one in enumerate(people):
            vote(task, 3.0 if number == 2 else 1.0 + n % 5, rater=one)
    quality.refresh(study.pk)
    study.lazy = people[2]
    return study


def test_a_preview_changes_nothing_and_names_whom_it_would_meet(study):
    (found,) = automation.preview(study, QualityRules.of({"quality": {"rules": [{**SAME, "on": False}]}}))

    assert (found.n_raters, found.n_new, found.n_judgments) == (1, 1, 15)
    assert found.examples[0].name == study.lazy.pseudonym
    assert found.examples[0].evidence == [
        {"figure": "variance", "side": "below", "threshold": 0.1, "value": 0.0, "n": 15}
    ]
    assert not RaterAction.objects.exists()


def test_a_rule_that_is_on_acts_once_and_what_it_did_goes_back(study):
    study = automation.set_rules(study, actor=UserFactory(), rules=[SAME])
    quality.refresh(study.pk)
    quality.refresh(study.pk)

    action = RaterAction.objects.get()
    assert (action.rater_id, action.kind, action.rule, action.n_judgments) == (
        RaterQuality.objects.get(longest_run=15).rater_id, "exclude_all", "same", 15,
    )  # fmt: skip
    assert RaterQuality.objects.get(rater=action.rater).actions == ["exclude_all"]

    actions.revert(action, actor=UserFactory())
    quality.refresh(study.pk)
    assert Rater.objects.get(pk=action.rater_id).state == "active"
    assert RaterAction.objects.count() == 1
    assert automation.preview(study, QualityRules.of(study.rules))[0].n_new == 0


def test_setting_rules_validates_all_of_them(study):
    with pytest.raises(InvalidInput):
        automation.set_rules(study, actor=None, rules=[{**SAME, "action": "?"}])
    with pytest.raises(InvalidInput):
        automation.set_rules(study, actor=None, nonsense=1)
    study.refresh_from_db()
    assert "quality" not in study.rules
