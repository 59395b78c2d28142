"""Quality of raters: rows that follow the votes, and agree with statistics over all of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from analytics.data.questions import measured_questions
from analytics.data.votes import load_votes
from analytics.models import QualitySweep, RaterQuality
from analytics.raters import quality
from analytics.statistics.raters.rater_agreement import one_left_out
from annotation.jobs import sweeps
from annotation.models import CheckOutcome, Judgment, Rater, Task
from annotation.raters import withdrawal
from annotation.rating import exclusions
from tests.analytics.votes import exclude, vote
from tests.factories import StudyFactory, comparison_task, rater, rating_task

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _nobody_else_writes(monkeypatch):
    """Transactions of other test processes on this server would hold the sweep's mark back."""
    heads = sweeps.visible_heads
    monkeypatch.setattr(sweeps, "visible_heads", lambda *given: (heads(*given)[0], 0, 0))


@pytest.fixture
def study():
    return StudyFactory(slug="s", overlap=4)


@pytest.fixture
def raters(study):
    """Three who agree, and one who always answers 3."""
    people = [rater(study) for _ in range(4)]
    rng = np.random.default_rng(5)
    for n in range(24):
        task, truth = rating_task(study, f"task-{n:02}"), float(rng.integers(1, 6))
        for number, one in enumerate(people):
            value = 3.0 if number == 3 else float(np.clip(truth + rng.integers(-1, 2), 1, 5))
            at = START + timedelta(minutes=n)
            vote(task, value, rater=one, submitted_at=at, started_at=at - timedelta(seconds=10 + number))
    return people


def row(one: Rater) -> RaterQuality:
    return RaterQuality.objects.get(rater=one)


def assert_equals_computed_at_once(study):
    """The kept rows say what a look at all votes says."""
    votes = load_votes(measured_questions(study)[0]).counted()
    expected = {
        votes.raters[one.rater]: one
        for one in one_left_out(votes.unit, votes.rater, votes.value, level="ordinal")
    }
    alpha = QualitySweep.objects.get(study=study).alphas["correctness"]
    found = RaterQuality.objects.filter(study_id=study.pk, n_judgments__gt=0)
    assert {one.name for one in found} == set(expected)
    for one in found:
        without = expected[one.name].alpha_without
        assert (one.n_judgments, one.n_compared) == (
            expected[one.name].ratings,
            expected[one.name].pairable_ratings,
        )
        assert one.alpha_gain == pytest.approx(without - alpha, abs=quality.LEAST_MOVE)
        assert one.details["questions"][0]["equal"] == pytest.approx(expected[one.name].equal)


def test_figures_tell_who_always_answers_3(study, raters):
    quality.refresh(study.pk)

    good, bad = row(raters[0]), row(raters[3])
    assert (bad.variance, bad.entropy, bad.longest_run) == (0, 0, 24)
    assert good.variance > 1
    assert bad.agreement < 0.3 < good.agreement
    assert bad.alpha_gain > 0.05
    assert (good.seconds, bad.seconds, good.n_timed) == (10, 13, 24)
    assert_equals_computed_at_once(study)


def test_rows_follow_votes_exclusions_and_withdrawals(study, raters):
    quality.refresh(study.pk)
    more = rating_task(study, "more")
    vote(more, 5.0, rater=raters[0])
    vote(more, 1.0, rater=raters[1])
    quality.refresh(study.pk)
    assert row(raters[0]).n_judgments == 25
    assert_equals_computed_at_once(study)

    exclude(Judgment.objects.filter(rater=raters[1]).first())
    quality.refresh(study.pk)
    assert (row(raters[1]).n_judgments, row(raters[1]).n_excluded) == (24, 1)
    assert_equals_computed_at_once(study)

    theirs = Judgment.objects.filter(rater=raters[3])
    exclusions.exclude_or_restore(theirs, study=study, action="exclude", reason="careless", actor=None)
    quality.refresh(study.pk)
    assert (row(raters[3]).n_judgments, row(raters[3]).variance) == (0, 0)  # what it was is still to be seen
    assert_equals_computed_at_once(study)

    exclusions.exclude_or_restore(theirs, study=study, action="restore", reason="fine", actor=None)
    withdrawal.withdraw(raters[2], mode="removed", actor=None)
    quality.refresh(study.pk)
    assert row(raters[2]).state == "withdrawn"
    assert row(raters[2]).n_answers == 0


def test_only_raters_of_whom_something_changed_are_computed_again(study, raters):
    quality.refresh(study.pk)
    before = {one.pk: row(one).computed_at for one in raters}
    lonely = rating_task(study, "lonely")
    vote(lonely, 2.0, rater=raters[1])

    quality.refresh(study.pk)

    assert [row(one).computed_at > before[one.pk] for one in raters] == [False, True, False, False]


def test_a_due_study_is_one_with_newer_votes(study, raters):
    assert quality.studies_due() == [study.pk]
    quality.refresh(study.pk)
    assert quality.studies_due() == []
    vote(rating_task(study, "new"), 2.0, rater=rater(study))
    assert quality.studies_due() == [study.pk]


def test_hidden_checks_are_counted_by_kind_and_training_is_not(study, raters):
    for kind, passed, score in [
        (2, False, 0.0),
        (3, True, 1.0),
        (3, False, 0.0),
        (4, True, 1.0),
        (5, None, 0.75),
    ]:
        task = rating_task(study, f"check-{kind}-{passed}")
        Task.objects.filter(pk=task.pk).update(kind=kind)
        judgment = vote(task, 3.0, rater=raters[0])
        CheckOutcome.objects.create(
            judgment=judgment, rater=raters[0], task=task, kind=kind, passed=passed, score=score
        )
    quality.refresh(study.pk)

    found = row(raters[0])
    assert (found.n_checks, found.n_failed, found.check_accuracy) == (3, 1, pytest.approx(2 / 3))
    assert (found.n_gold, found.gold_accuracy, found.n_traps, found.trap_accuracy) == (2, 0.5, 1, 1.0)
    assert (found.n_repeats, found.consistency) == (1, 0.75)
    assert found.n_judgments == 24
    assert found.details["checks"]["low"] < 2 / 3 < found.details["checks"]["high"]
    withdrawal.withdraw(raters[0], mode="removed", actor=None)
    quality.refresh(study.pk)
    assert (row(raters[0]).n_checks, row(raters[0]).check_accuracy) == (0, None)


def test_preferences_have_a_bias_and_a_favourite():
    study = StudyFactory(slug="p", preset="cmi-pref", overlap=4)
    people = [rater(study) for _ in range(4)]
    rng = np.random.default_rng(6)
    for n in range(40):
        task, truth = comparison_task(study, f"pair-{n:02}"), int(rng.integers(1, 3))
        for number, one in enumerate(people):
            order = [0, 1] if (n + number) % 2 else [1, 0]
            choice = truth if rng.random() < 0.9 else 3 - truth
            if number == 2:
                choice = order[0] + 1  # whatever stands first
            if number == 3:
                choice = 2  # system-2, whatever it is
            vote(task, question="musicality", choice=choice, rater=one, presentation=order)
    quality.refresh(study.pk)

    assert row(people[2]).position_bias == 1
    assert row(people[0]).position_bias < 0.5
    assert row(people[2]).details["sides"]["low"] > 0.9
    assert row(people[3]).deviation > 3 > row(people[0]).deviation
    assert row(people[3]).details["deviation"][0]["favoured"] in (True, False)
    assert row(people[0]).agreement > 0.2
