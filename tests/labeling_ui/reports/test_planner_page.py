"""How many votes are needed, asked in the browser."""

from __future__ import annotations

import pytest
from django.urls import reverse

from analytics.overview import figures
from analytics.planning import pilot, rules
from annotation.jobs import jobs
from annotation.models import Job
from tests.analytics.votes import vote
from tests.factories import StudyFactory, member, rater, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def pairs(client):
    study = StudyFactory(slug="pairs", preset="cmi-pref")
    client.force_login(member(study, "researcher"))
    return study


def shown(client, **numbers) -> str:
    return client.get(reverse("planner", args=["s"]), numbers).text


def test_the_page_opens_with_an_answer_and_says_where_its_figures_are_from(signed_in):
    page = shown(signed_in, goal="power")
    assert "About " in page
    assert "votes on each answer" in page
    assert "Published: ratings of production quality in AES-PAM" in page
    assert 'aria-current="true"' in page


def test_the_settings_lead_there(signed_in):
    assert reverse("planner", args=["s"]) in signed_in.get(reverse("settings", args=["s"])).text


def test_opening_the_page_reads_no_votes_and_draws_none(signed_in, monkeypatch):
    monkeypatch.setattr(pilot.data_votes, "load_votes", None)
    monkeypatch.setattr(rules, "simulated_pilot", None)
    assert "About " in shown(signed_in)
    assert not Job.objects.exists()


def test_numbers_in_the_address_are_the_ones_used(signed_in):
    ones = {"sd_raters": 0, "sd_items": 0, "sd_outputs": 0, "sd_residual": 1, "overlap": 1, "systems": 1}
    page = shown(signed_in, goal="width", half_width=0.25, votes_per_rater=1, **ones)
    assert "About 64 votes: 64 items" in page  # (1.96 / 0.25)^2 = 62, and two for Student's t


@pytest.mark.parametrize("goal", ["width", "power", "alpha", "majority"])
def test_every_goal_of_a_comparison_has_an_answer(client, pairs, goal):
    page = client.get(reverse("planner", args=["pairs"]), {"goal": goal}).text
    assert "votes: " in page
    assert ("with 3 votes" in page) == (goal != "majority")


@pytest.mark.parametrize(
    ("numbers", "field"),
    [
        ({"overlap": "0"}, "plan_overlap"),
        ({"confidence": "120"}, "plan_confidence"),
        ({"sd_residual": "nan"}, "plan_sd_residual"),
        ({"sd_residual": "lots"}, "plan_sd_residual"),
        ({"half_width": ""}, "plan_half_width"),
    ],
)
def test_a_number_that_makes_no_sense_is_named_and_answers_nothing(signed_in, numbers, field):
    page = shown(signed_in, **numbers)
    assert f'id="{field}_error"' in page
    assert "About " not in page


def test_no_difference_cannot_be_found(client, pairs):
    page = client.get(reverse("planner", args=["pairs"]), {"goal": "power", "win_rate": "50"}).text
    assert "there is no difference to find" in page


def test_a_target_beyond_reach_says_so(signed_in):
    page = shown(signed_in, half_width="0.0001", sd_raters="5", votes_per_rater=1_000_000)
    assert "No study of reasonable size gets there" in page
    assert 'name="try"' not in page


def test_votes_are_read_in_the_background_and_prefilled(signed_in, study):
    people = [rater(study) for _ in range(2)]
    for n in range(4):
        task = rating_task(study, f"item-{n}")
        for person in people:
            vote(task, 1 + n, rater=person)
    address = reverse("planner", args=["s"]) + "?goal=power"
    signed_in.post(address, {"read": ""})
    signed_in.post(address, {"read": ""})
    job = Job.objects.get()
    assert "The votes are being read" in signed_in.get(address).text
    jobs.run(job.pk)
    page = signed_in.get(address).text
    assert "From 8 votes of this study on 4 outputs" in page
    assert "The pilot is small" in page


def test_agreement_starts_from_the_studys_own(signed_in, study):
    for n in range(4):
        task = rating_task(study, f"item-{n}")
        for value in (1 + n, 1 + n, 1 + (n + 1) % 3):
            vote(task, value)
    figures.recompute_figures(study.pk)
    page = shown(signed_in, goal="alpha", half_width="0.1")
    assert (
        "From the agreement of this study&#x27;s votes" in page
        or "From the agreement of this study's votes" in page
    )


def test_a_plan_is_tried_once_however_often_the_button_is_pressed(signed_in):
    address = reverse("planner", args=["s"]) + "?goal=power&difference=0.6&systems=3"
    assert 'name="try"' in signed_in.get(address).text
    signed_in.post(address, {"try": "", "careless": "10"})
    signed_in.post(address, {"try": "", "careless": "10"})
    job = Job.objects.get()
    assert 'hx-trigger="every 2s"' in signed_in.get(address).text
    jobs.run(job.pk)
    page = signed_in.get(address).text
    assert "200 simulated studies, 10.0\u00a0% of the raters careless" in page
    assert page.count('class="line-plot"') == 3
    assert 'class="line-plot"' not in shown(signed_in, goal="power", difference="0.7", systems=3)


def test_a_habit_that_makes_no_sense_starts_nothing(signed_in):
    page = signed_in.post(reverse("planner", args=["s"]), {"try": "", "careless": "200"}).text
    assert 'id="habits_careless_error"' in page
    assert not Job.objects.exists()
