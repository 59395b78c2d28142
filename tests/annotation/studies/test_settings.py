"""Study settings: each dataclass declares them whole, and its defaults pass its own validation."""

from __future__ import annotations

import math

import pytest

from annotation.listening.rules.checks import CheckRules
from annotation.listening.rules.coverage import ListeningRules
from annotation.rating.rules.hints import Hints
from annotation.rating.rules.ordering import Ordering
from annotation.rating.rules.stopping import Stopping
from annotation.studies.settings import Setting, all_values, declared, from_stored, validate


@pytest.mark.parametrize("declaration", [ListeningRules, CheckRules, Ordering, Hints])
def test_the_defaults_are_valid_and_each_setting_has_a_label(declaration):
    assert validate(declaration, all_values(declaration, {})) == []
    assert all(setting.label for setting in declared(declaration).values())


def test_only_what_differs_from_the_defaults_is_stored():
    assert from_stored(Ordering, {"among": 8, "gone": 1}) == Ordering(among=8)
    assert all_values(CheckRules, {"gate": False})["gate"] is False
    assert all_values(CheckRules, {})["require"] == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (Setting(type="bool"), 1),
        (Setting(type="int", most=9), True),
        (Setting(type="int", most=9), 1.5),
        (Setting(type="int", most=9), "1"),
        (Setting(type="float", most=9), 9.1),
        (Setting(type="float", most=9), math.nan),
        (Setting(type="float", most=9), None),
        (Setting(type="str", max_length=3), "long"),
        (Setting(type="str", choices=(("a", "A"),)), ["a"]),
        (Setting(type="tuple", choices=(("a", "A"),)), "a"),
        (Setting(type="tuple", choices=(("a", "A"),)), ["a", "b"]),
    ],
)
def test_a_value_of_another_type_or_out_of_bounds_is_refused(setting, value):
    assert setting.problem_of(value)


def test_what_depends_on_the_study_replaces_the_declaration():
    rule = {"question": "q", "most": 5, "threshold": 0.9}
    assert validate(Stopping, rule, most={"least": 4}) == []
    assert "from 6" in validate(Stopping, rule, most={"least": 6})[0].message
    assert [problem.field for problem in validate(Hints, {"scorer": "orca", "shown": True})] == ["shown"]
