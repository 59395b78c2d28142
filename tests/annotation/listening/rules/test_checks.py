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
    assert [problem.field for problem in validate(CheckRules, stated)] == [field]


def test_settings_that_make_sense_have_no_faults():
    stated = {"require": ["level", "huggins"], "valid_hours": 1, "recheck_minutes": 30, "gate": False}
    assert validate(CheckRules, stated) == []


@pytest.mark.parametrize("kind", KINDS)
def test_trials_are_drawn_from_the_seed_and_unanswered(kind):
    trials = draw_trials(kind, seed=1)
    assert trials == draw_trials(kind, seed=1)
    assert trials != draw_trials(kind, seed=2)
    assert len(trials) == KINDS[kind].n_trials
    assert {trial["answer"] for trial in trials} == {None}


def test_every_order_of_the_antiphase_trials_comes_once():
    orders = {(trial["key"], trial["antiphase"]) for trial in draw_trials("antiphase", seed=3)}
    assert len(orders) == 6
    assert all(key != antiphase for key, antiphase in orders)


@pytest.mark.parametrize("seed", range(20))
def test_both_ears_come_up(seed):
    assert {trial["key"] for trial in draw_trials("left_right", seed=seed)} == {0, 1}


def test_the_hidden_tone_is_in_each_place_twice():
    assert sorted(trial["key"] for trial in draw_trials("huggins", seed=3)) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("n_right", "passes"), [(6, True), (5, True), (4, False), (0, False)])
def test_five_of_six_pass(n_right, passes):
    trials = draw_trials("antiphase", seed=5)
    for number, trial in enumerate(trials):
        trial["answer"] = trial["key"] if number < n_right else (trial["key"] + 1) % 3
    assert score_trials("antiphase", trials) == (passes, n_right)


def test_one_ear_confused_fails_left_and_right():
    trials = draw_trials("left_right", seed=5)
    for trial in trials:
        trial["answer"] = 0
    assert score_trials("left_right", trials)[0] is False


def test_setting_the_volume_cannot_be_failed():
    trials = draw_trials("level", seed=5)
    trials[0]["answer"] = 0
    assert score_trials("level", trials) == (True, None)


def test_a_check_never_taken_is_due_with_all_tries_left():
    assert standing(REQUIRED) == CheckStanding("antiphase", "due", None, 3)


def test_a_passed_check_holds_for_its_hours():
    assert standing(REQUIRED, passed(hours=23)) == CheckStanding(
        "antiphase", "valid", NOW + timedelta(hours=1), 3
    )
    assert standing(REQUIRED, passed(hours=24)).state == "due"


def test_a_check_of_another_kind_does_not_help():
    assert standing(REQUIRED, CheckRun("huggins", True, ago(hours=1))).state == "due"


def test_the_latest_run_counts():
    assert standing(REQUIRED, passed(hours=2), failed(hours=1)).state == "due"
    assert standing(REQUIRED, failed(hours=2), passed(hours=1)).state == "valid"


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
