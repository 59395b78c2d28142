"""Which rules a study has, what may be set, and what their evidence weighs."""

from __future__ import annotations

import pytest

from annotation.review import flag_rules
from annotation.review.flag_rules import FlagRules

RULES = FlagRules.of({})


def test_a_fresh_study_flags_by_codes_disagreement_low_confidence_and_failed_gold():
    assert [rule.key for rule in RULES.in_force()] == [
        "codes",
        "disagreement",
        "low_confidence",
        "failed_gold",
    ]


def test_a_study_states_only_what_differs():
    rules = FlagRules.of({"review": {"flags": {"codes": {"codes": ["R"]}, "audit": {"on": True}}}})
    assert (rules["codes"]["codes"], rules["codes"]["min_raters"], rules["codes"].on) == (("R",), 1, True)
    assert rules["audit"].on
    assert FlagRules.of({"review": {"flags": rules.as_json()}}) == rules


def test_conflicts_with_a_model_wait_for_a_model():
    on = {"model_conflict": {"on": True}}
    assert "model_conflict" not in [rule.key for rule in RULES.changed(on).in_force()]
    chosen = RULES.changed({"model_conflict": {"on": True, "scorer": "aqascore"}})
    assert "model_conflict" in [rule.key for rule in chosen.in_force()]


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"votes": {"on": True}}, "flags.votes"),
        ({"codes": True}, "flags.codes"),
        ({"codes": {"on": 1}}, "flags.codes.on"),
        ({"codes": {"min_raters": 0}}, "flags.codes.min_raters"),
        ({"codes": {"min_raters": 1.5}}, "flags.codes.min_raters"),
        ({"codes": {"codes": ["X"]}}, "flags.codes.codes"),
        ({"codes": {"codes": "R"}}, "flags.codes.codes"),
        ({"codes": {"codes": [["R"]]}}, "flags.codes.codes"),
        ({"disagreement": {"variance": -0.1}}, "flags.disagreement.variance"),
        ({"disagreement": {"variance": float("nan")}}, "flags.disagreement.variance"),
        ({"audit": {"share": True}}, "flags.audit.share"),
        ({"audit": {"weight": 11}}, "flags.audit.weight"),
        ({"audit": {"shares": 0.1}}, "flags.audit.shares"),
        ({"model_conflict": {"scorer": 5}}, "flags.model_conflict.scorer"),
    ],
)
def test_each_fault_is_named_by_its_field(wanted, field):
    assert [fault.field for fault in flag_rules.validate_flag_rules(wanted, codes=("Q", "R"))] == [field]


def test_all_that_is_offered_is_without_fault():
    assert flag_rules.validate_flag_rules(RULES.as_json(), codes=("Q", "R")) == []
    assert (
        flag_rules.validate_flag_rules(
            {"codes": {"codes": ["R"], "weight": 2, "on": False}}, codes=("Q", "R")
        )
        == []
    )


@pytest.mark.parametrize(
    ("rule", "evidence", "strength"),
    [
        ("codes", {"n_raters": 1}, 0.5),
        ("codes", {"n_raters": 3}, 0.875),
        ("disagreement", {"variance_on_5": 8.0}, 1.0),
        ("disagreement", {"variance_on_5": 2.0}, 0.25),
        ("disagreement", {"minority": 0.4}, 0.8),
        ("disagreement", {"minority": 0.75}, 1.0),
        ("low_confidence", {"mean_on_5": 1.0}, 1.0),
        ("low_confidence", {"mean_on_5": 2.0}, 0.75),
        ("failed_gold", {"n_failed": 2}, 0.75),
        ("model_conflict", {"difference": 0.6}, 0.6),
        ("unannotated", {}, 1.0),
        ("audit", {}, 1.0),
    ],
)
def test_evidence_has_a_strength_from_0_to_1(rule, evidence, strength):
    assert RULES[rule].strength(evidence) == pytest.approx(strength)
    assert RULES[rule].weight_of(evidence) == pytest.approx(RULES[rule].weight * strength)


def test_a_draw_depends_on_the_seed_and_the_name_alone():
    draws = [flag_rules.audit_draw(7, f"item-{n}") for n in range(1000)]
    assert draws == [flag_rules.audit_draw(7, f"item-{n}") for n in range(1000)]
    assert min(draws) >= 0
    assert max(draws) < 1
    assert 0.45 < sum(draw < 0.5 for draw in draws) / 1000 < 0.55
    assert draws[0] != flag_rules.audit_draw(8, "item-0")
