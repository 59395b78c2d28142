from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from annotation.listening.rules.checks import (
    KINDS,
    CheckRules,
    CheckRun,
    CheckStanding,
    draw_trials,
    is_due,
    score_trials,
    standings,
    work_since,
)
from annotation.studies.settings import validate

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
REQUIRED = CheckRules(require=("antiphase",))


def ago(**lengths: float) -> datetime:
    return NOW - timedelta(**lengths)


def standing(rules: CheckRules, *runs: CheckRun, worked: list[datetime] | None = None) -> CheckStanding:
    return standings(rules, runs, worked=worked or [], now=NOW)[0]


def failed(**when: float) -> CheckRun:
    return CheckRun("antiphase", False, ago(**when))


def passed(**when: float) -> CheckRun:
    return CheckRun("antiphase", True, ago(**when))


def test_a_study_requires_nothing_unless_it_says_so():
    assert CheckRules.of({}) == CheckRules(require=(), valid_hours=24, recheck_minutes=0, gate=True)
    assert standings(CheckRules.of({}), [], worked=[], now=NOW) == []
    assert not is_due([])


def test_the_volume_is_always_set_first():
    rules = CheckRules.of({"checks": {"require": ["huggins", "level"], "gate": False}})
    assert rules == CheckRules(require=("level", "huggins"), gate=False)


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({"require": ["echo"]}, "require"),
        ({"require": "level"}, "require"),
        ({"valid_hours": 0}, "valid_hours"),
        ({"valid_hours": 2.5}, "valid_hours"),
        ({"recheck_minutes": True}, "recheck_minutes"),
        ({"recheck_minutes": 601}, "recheck_minutes"),
        ({"gate": "yes"}, "gate"),
        ({"strict": True}, "strict"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_their_field(stated, field):
    usable = {"require": ["level", "huggins"], "valid_hours": 1, "recheck_minutes": 30, "gate": False}
    assert validate(CheckRules, usable) == []
    assert [problem.field for problem in validate(CheckRules, stated)] == [field]


@pytest.mark.parametrize("kind", KINDS)
def test_trials_are_drawn_from_the_seed_and_unanswered(kind):
    trials = draw_trials(kind, seed=1)
    assert trials == draw_trials(kind, seed=1)
    assert trials != draw_trials(kind, seed=2)
    assert len(trials) == KINDS[kind].n_trials
    assert {trial["answer"] for trial in trials} == {None}


def test_every_order_comes_once_and_each_place_and_ear_as_it_should():
    orders = [(trial["key"], trial["antiphase"]) for trial in draw_trials("antiphase", seed=3)]
    assert len(set(orders)) == len(orders) == 6
    assert all(key != antiphase for key, antiphase in orders)
    assert sorted(trial["key"] for trial in draw_trials("huggins", seed=3)) == [0, 0, 1, 1, 2, 2]
    for seed in range(20):
        assert {trial["key"] for trial in draw_trials("left_right", seed=seed)} == {0, 1}


@pytest.mark.parametrize(
    ("kind", "n_right", "verdict"),
    [
        *(("antiphase", n, (n >= 5, n)) for n in (6, 5, 4, 0)),
        ("left_right", 3, (False, 3)),  # one ear confused fails
        ("level", 0, (True, None)),  # setting the volume cannot be failed
    ],
)
def test_five_of_six_pass_or_four_of_four(kind, n_right, verdict):
    trials = draw_trials(kind, seed=5)
    for number, trial in enumerate(trials):
        trial["answer"] = trial["key"] if number < n_right else ((trial["key"] or 0) + 1) % 2
    assert score_trials(kind, trials) == verdict


def test_a_check_is_due_until_it_is_passed_and_holds_for_its_hours():
    assert standing(REQUIRED) == CheckStanding("antiphase", "due", None, 3)
    until = NOW + timedelta(hours=1)
    assert standing(REQUIRED, passed(hours=23)) == CheckStanding("antiphase", "valid", until, 3)


@pytest.mark.parametrize(
    ("runs", "state"),
    [
        ([passed(hours=24)], "due"),
        ([CheckRun("huggins", True, ago(hours=1))], "due"),  # of another kind
        ([passed(hours=2), failed(hours=1)], "due"),
        ([failed(hours=2), passed(hours=1)], "valid"),
    ],
)
def test_the_latest_run_of_its_kind_counts(runs, state):
    assert standing(REQUIRED, *runs).state == state


def test_after_three_failures_in_a_day_it_rests_until_the_first_is_a_day_old():
    runs = [failed(hours=5), failed(hours=3), failed(hours=1)]
    assert standing(REQUIRED, *runs) == CheckStanding("antiphase", "exhausted", NOW + timedelta(hours=19), 0)
    assert standing(REQUIRED, failed(hours=25), *runs[1:]) == CheckStanding("antiphase", "due", None, 1)


def test_failures_before_it_was_passed_do_not_count():
    runs = [failed(hours=5), failed(hours=4), passed(hours=3), failed(hours=1)]
    assert standing(REQUIRED, *runs) == CheckStanding("antiphase", "due", None, 2)


def test_without_a_gate_a_failed_check_is_done():
    rules = CheckRules(require=("antiphase",), gate=False)
    assert standing(rules, failed(hours=1)).state == "valid"
    assert standing(rules, failed(hours=3), failed(hours=2), failed(hours=25)).state == "valid"
    assert standing(rules, failed(hours=25)).state == "due"


def test_after_so_much_work_a_check_is_due_again():
    rules = CheckRules(require=("antiphase",), recheck_minutes=30)
    steady = [ago(minutes=minutes) for minutes in range(0, 31, 2)]
    assert standing(rules, passed(minutes=31), worked=steady).state == "due"
    assert standing(rules, passed(minutes=29), worked=steady).state == "valid"


def test_a_long_pause_is_not_work():
    rules = CheckRules(require=("antiphase",), recheck_minutes=30)
    assert standing(rules, passed(hours=8), worked=[ago(hours=7), ago(minutes=2)]).state == "valid"


def test_work_is_the_time_between_judgments_and_until_now():
    worked = [ago(minutes=58), ago(minutes=3), ago(hours=3)]
    assert work_since(ago(hours=1), worked, now=NOW) == timedelta(minutes=2 + 5 + 3)
