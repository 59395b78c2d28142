"""A plan from a few numbers, and what it starts from."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from analytics.planning.pilot import agreement_figures, median_seconds, pilot_figures, published_figures
from analytics.planning.rules import (
    PlanRequest,
    RaterHabits,
    plan_request_from_json,
    plan_study,
    simulate_plan,
)
from analytics.reports.agreement import study_agreement
from annotation.models import Answer, Judgment
from tests.analytics.votes import vote
from tests.factories import StudyFactory, comparison_task, rater, rating_task

RATING = PlanRequest("rating", "power", systems=4, **published_figures("rating", 4.0))
PREFERENCE = PlanRequest("preference", "power", **published_figures("preference", 1.0))


@pytest.mark.parametrize(
    "asked",
    [
        RATING,
        replace(RATING, goal="width"),
        replace(RATING, goal="alpha", half_width=0.05),
        PREFERENCE,
        replace(PREFERENCE, goal="width", half_width=0.05),
        replace(PREFERENCE, goal="alpha", half_width=0.05),
    ],
)
def test_published_figures_answer_every_goal_with_one_to_seven_votes_on_each(asked):
    found = plan_study(asked)
    assert found.plan.design.overlap == 3
    assert [other.overlap for other in found.alternatives][-1] == 7
    own = next(other for other in found.alternatives if other.overlap == 3)
    assert own.plan == found.plan
    items = [other.plan.design.items for other in found.alternatives]
    assert items == sorted(items, reverse=True)


def test_ties_cost_comparisons_where_agreement_is_asked_for():
    few, many = (
        plan_study(replace(PREFERENCE, goal="alpha", overlap=2, half_width=0.1, ties=ties)).plan
        for ties in (0.0, 0.3)
    )
    assert many.design.items * 0.7**2 == pytest.approx(few.design.items, abs=1)


def test_hours_are_votes_times_seconds():
    found = plan_study(replace(PREFERENCE, seconds=36.0))
    assert found.hours == pytest.approx(found.plan.design.votes / 100)
    assert plan_study(PREFERENCE).hours is None


def test_a_majority_asks_for_votes_on_each_comparison():
    found = plan_study(replace(PREFERENCE, goal="majority", accuracy=0.85, items=50))
    assert found.plan.design.votes == 50 * found.majority.votes
    assert found.majority.votes == 5  # as preferences published by others: .828 with 3 and .858 with 5
    assert not found.alternatives


def test_a_majority_of_ratings_is_not_asked_for():
    with pytest.raises(ValueError, match="of comparisons"):
        plan_study(replace(RATING, goal="majority"))


def test_a_question_survives_being_stored():
    asked = replace(RATING, seconds=12.5, points=(0.0, 0.5, 1.0))
    assert plan_request_from_json({**asked.as_json(), "left over": 1}) == asked


def test_published_figures_grow_with_the_scale():
    narrow, wide = published_figures("rating", 4.0), published_figures("rating", 10.0)
    assert wide["sd_outputs"] == pytest.approx(0.66)
    assert narrow["sd_outputs"] == pytest.approx(0.26)
    assert wide["alpha"] == narrow["alpha"]


@pytest.mark.parametrize("asked", [RATING, PREFERENCE])
def test_a_plan_is_tried_with_raters_of_any_habits(asked):
    design = replace(plan_study(asked).plan.design, items=12)
    plain, careless = (simulate_plan(asked, design, RaterHabits(c), runs=30) for c in (0.0, 0.6))
    assert plain["moments"][-1]["votes"] == design.votes
    assert plain["moments"][-1]["alpha"]["mean"] > careless["moments"][-1]["alpha"]["mean"]


def test_a_study_too_large_to_try_says_so():
    design = replace(plan_study(PREFERENCE).plan.design, items=1_000_000)
    with pytest.raises(ValueError, match="200,000 votes at most"):
        simulate_plan(PREFERENCE, design, RaterHabits())


@pytest.fixture
def rated(db):
    """Four items by two systems, everybody rates everything."""
    study = StudyFactory()
    people = [rater(study) for _ in range(3)]
    for n in range(4):
        for s in range(2):
            task = rating_task(study, f"item-{n}-{s}", system=f"system-{s}", overlap=6)
            for k, person in enumerate(people):
                vote(task, 1 + n // 2 + s + (k == 2), rater=person)
    return study


def test_a_pilot_is_read_from_the_votes_of_the_study(rated):
    found = pilot_figures(rated)
    question = found["questions"]["correctness"]
    assert (question["votes"], question["outputs"], question["systems"], question["raters"]) == (24, 8, 2, 3)
    assert question["figures"]["sd_raters"] > 0
    assert "small" in question["notes"]
    assert found["seconds"] is None


def test_excluded_votes_and_experts_own_are_no_pilot(rated):
    task = rated.tasks.first()
    vote(task, 5, rater=rater(rated), excluded=True)
    vote(task, 5, rater=rater(rated), origin=Judgment.Origin.EXPERT)
    assert pilot_figures(rated)["questions"]["correctness"]["votes"] == 24


def test_seconds_are_the_median_of_those_who_did_not_leave(rated):
    started = timezone.now()
    for seconds in (10, 20, 60, 7200):
        task = rating_task(rated, f"timed-{seconds}")
        vote(
            task, 3, rater=rated.raters.first(), origin=Judgment.Origin.RATED, started_at=started,
            submitted_at=started + timedelta(seconds=seconds),
        )  # fmt: skip
    assert median_seconds(rated) == pytest.approx(20)


def test_alpha_and_its_error_come_from_the_stored_agreement(rated):
    (found,) = study_agreement(rated)
    figures = agreement_figures(found.as_json())
    assert figures["alpha"] == found.alpha.alpha
    assert figures["pilot_overlap"] == 3
    plan = plan_study(
        PlanRequest("rating", "alpha", half_width=found.alpha.alpha - found.alpha.ci[0] + 1e-9, **figures)
    )
    assert plan.plan.design.items == found.alpha.pairable_units
    assert agreement_figures({"alpha": None, "ci95": None, "pairable_units": 0}) == {}


@pytest.mark.django_db
def test_preferences_count_for_the_same_system_whichever_is_listed_first():
    study = StudyFactory(preset="music-arena")
    people = [rater(study) for _ in range(2)]
    choice = Answer.Choice
    said = {
        "a": (choice.FIRST, choice.FIRST),
        "b": (choice.SECOND, choice.SECOND),
        "c": (choice.TIE, choice.FIRST),
        "d": (choice.BOTH_BAD, choice.SECOND),
    }
    (key,) = [question.key for question in study.protocol_version.questions.all() if question.level]
    for name, choices in said.items():
        task = comparison_task(study, name)
        for person, chosen in zip(people, choices, strict=True):
            vote(task, question=key, choice=chosen, rater=person)
    found = pilot_figures(study)["questions"][key]
    assert found["votes"] == 7
    assert found["figures"]["ties"] == pytest.approx(1 / 7)
    assert found["figures"]["between_items"] > 0.5


@pytest.mark.django_db
def test_a_study_without_votes_has_no_pilot_and_says_why():
    found = pilot_figures(StudyFactory())["questions"]["correctness"]
    assert (found["figures"], found["notes"]) == ({}, ["no_votes"])
