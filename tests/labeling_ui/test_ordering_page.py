"""Which tasks come first, set on the settings page."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import OrderingPolicy, Study
from annotation.rating.rules import ordering
from tests.factories import StudyFactory, member

pytestmark = pytest.mark.django_db

PAGE = "ordering_rule"
FILLED = {
    "order": "policy", "uniform": "25", "among": "8", "uncertainty": "1", "disagreement": "0.5", "coverage": "0",
    "scorer": "",
}  # fmt: skip


@pytest.fixture
def study() -> Study:
    return StudyFactory(slug="s")


@pytest.fixture
def client(client, study):
    client.force_login(member(study, "researcher"))
    return client


def policy() -> ordering.Ordering | None:
    return ordering.settings(Study.objects.get(slug="s").rules)


def test_a_policy_is_saved_in_the_units_of_the_rules(client):
    page = client.post(reverse(PAGE, args=["s"]), FILLED, follow=True).content.decode()
    assert "Saved." in page
    assert "Version 1 is in force." in page
    assert policy() == ordering.Ordering(
        uniform=0.25, among=8, uncertainty=1.0, disagreement=0.5, coverage=0.0
    )


def test_switched_off_it_takes_empty_numbers(client):
    client.post(reverse(PAGE, args=["s"]), FILLED)
    client.post(reverse(PAGE, args=["s"]), {"order": "", "uniform": "", "among": ""})
    assert policy() is None
    assert OrderingPolicy.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("uniform", "19", "20"),
        ("uniform", "", "required"),
        ("among", "3", "4"),
        ("coverage", "", "required"),
        ("disagreement", "-1", "0"),
        ("scorer", "parrot", "Select a valid choice"),
        ("order", "parrot", "Select a valid choice"),
    ],
)
def test_a_fault_is_told_at_its_field_and_changes_nothing(client, field, value, told):
    answer = client.post(reverse(PAGE, args=["s"]), {**FILLED, field: value})
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    assert told in errors[field][0]
    assert policy() is None


def test_something_has_to_weigh(client):
    nothing = {"uncertainty": "0", "disagreement": "0", "coverage": "0"}
    answer = client.post(reverse(PAGE, args=["s"]), {**FILLED, **nothing})
    assert list(answer.context["form"].errors) == ["uncertainty"]


def test_a_study_worked_through_as_listed_is_not_asked(client):
    listed = StudyFactory(order=Study.Order.LISTED)
    client.force_login(member(listed, "admin"))
    assert (
        reverse(PAGE, args=[listed.slug])
        not in client.get(reverse("settings", args=[listed.slug])).content.decode()
    )
    assert "in the listed order" in client.get(reverse(PAGE, args=[listed.slug])).content.decode()
