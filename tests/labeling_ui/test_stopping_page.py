"""Stopping early, set on the settings page and told on the study's page."""

from __future__ import annotations

import pytest
from django.urls import reverse

from analytics.overview import figures
from annotation.models import AuditEvent, Study
from annotation.rating.rules import stopping
from tests.analytics.votes import vote
from tests.factories import StudyFactory, comparison_task, member

pytestmark = pytest.mark.django_db

PAGE = "stopping_rule"
FILLED = {"question": "alignment", "threshold": "93.5", "most": "9"}


@pytest.fixture
def study() -> Study:
    return StudyFactory(slug="s", preset="cmi-pref", overlap=3)


@pytest.fixture
def client(client, study):
    client.force_login(member(study, "researcher"))
    return client


def rule() -> stopping.Stopping | None:
    return stopping.settings(Study.objects.get(slug="s").rules)


def test_a_rule_is_saved_in_the_units_of_the_rules_and_logged(client):
    answer = client.post(reverse(PAGE, args=["s"]), FILLED, follow=True)
    page = answer.content.decode()
    assert "Saved." in page
    assert 'value="93.5"' in page
    assert rule() == stopping.Stopping("alignment", most=9, threshold=0.935)
    assert AuditEvent.objects.get(action="study.changed").data["stopping"]["threshold"] == [None, 0.935]


def test_it_is_switched_off_by_asking_nothing(client):
    client.post(reverse(PAGE, args=["s"]), FILLED)
    client.post(reverse(PAGE, args=["s"]), {**FILLED, "question": ""})
    assert rule() is None


def test_it_is_switched_off_with_empty_numbers_which_stay_as_they_were(client):
    client.post(reverse(PAGE, args=["s"]), FILLED)
    client.post(reverse(PAGE, args=["s"]), {"question": "", "threshold": "", "most": ""})
    assert rule() is None
    assert stopping.as_json(Study.objects.get(slug="s").rules) == {
        "question": "",
        "threshold": 0.935,
        "most": 9,
    }


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("question", "evidence", "Select a valid choice"),
        ("threshold", "100", "99.9"),
        ("threshold", "50", "51"),
        ("threshold", "", "required"),
        ("most", "", "required"),
        ("most", "3", "more than the 3"),
        ("most", "1001", "1000"),
        ("most", "x", "whole number"),
    ],
)
def test_a_fault_is_told_at_its_field_and_changes_nothing(client, field, value, told):
    answer = client.post(reverse(PAGE, args=["s"]), {**FILLED, field: value})
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    assert told in errors[field][0]
    assert rule() is None


def test_a_chance_that_so_few_votes_never_reach_says_how_many_do(client):
    answer = client.post(reverse(PAGE, args=["s"]), {**FILLED, "threshold": "99", "most": "5"})
    assert "give 6 or more" in answer.content.decode()


def test_a_study_that_compares_no_pairs_is_not_asked(client):
    ratings = StudyFactory(preset="orca")
    client.force_login(member(ratings, "admin"))
    assert (
        reverse(PAGE, args=[ratings.slug])
        not in client.get(reverse("settings", args=[ratings.slug])).content.decode()
    )
    assert "compares no pairs" in client.get(reverse(PAGE, args=[ratings.slug])).content.decode()


def test_the_study_page_tells_what_was_saved_as_computed_before(client, study):
    client.post(reverse(PAGE, args=["s"]), {**FILLED, "threshold": "90"})
    for name, choices in (("clear", (1, 1, 1)), ("later", (1, 2, 1, 1, 1, 1)), ("open", (1, 2, 1))):
        task = comparison_task(study, name, overlap=max(3, len(choices)))
        for choice in choices:
            vote(task, question="alignment", choice=choice)
    assert "votes saved" not in client.get(reverse("study", args=["s"])).content.decode()
    figures.recompute_figures(study.pk)
    page = client.get(reverse("study", args=["s"])).content.decode()
    assert '<span class="number">9</span> votes saved' in page  # six and three
    assert "2 of 3 (66.7" in page
    assert "6 votes" in page
