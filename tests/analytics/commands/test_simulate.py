"""`manage.py simulate`, as typed."""

from __future__ import annotations

import json
from functools import partial

import pytest
from django.core.management import CommandError

from annotation.models import Judgment, Study, User
from tests.analytics.reports import reading
from tests.annotation.importing import known_tasks
from tests.factories import StudyFactory

pytestmark = pytest.mark.django_db
typed = partial(reading.typed, "simulate")
SMALL = ("--pairs", "30", "--votes", "90", "--replicates", "3", "--raters", "6", "--step", "30", "--json")


@pytest.fixture
def study() -> Study:
    made = StudyFactory.create(preset="cmi-pref", overlap=2, rules={})
    known_tasks.comparison(made)
    return made


def test_it_says_what_was_done_and_that_nothing_is_left(study: Study) -> None:
    assert typed(study.slug, "--raters", "1") == "1 vote. 1 rater joined. Places still open: 1.\n"
    assert typed(study.slug, "--raters", "1").startswith("These raters have voted on all")
    assert json.loads(typed(study.slug, "--raters", "3", "--json")) == {
        "votes": 1, "new_raters": 2, "open_places": 0
    }  # fmt: skip
    assert typed(study.slug, "--raters", "3").startswith("Every task has all the judgments it wants")


def test_comparing_orders_changes_nothing(study: Study) -> None:
    found = json.loads(typed(study.slug, "--compare-ordering", *SMALL))
    assert found["setting"]["pairs"] == 30
    assert [len(rows) for rows in found["savings"].values()] == [3, 3, 3]
    assert not Judgment.objects.exists()
    assert not User.objects.exists()


def test_the_study_s_policy_is_compared_unless_another_is_asked_for(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(rules={"ordering": {"uniform": 0.5, "among": 8}})
    stated = json.loads(typed(study.slug, "--compare-ordering", *SMALL))["ordering"]
    assert (stated["uniform"], stated["among"]) == (0.5, 8)
    asked = json.loads(typed(study.slug, "--compare-ordering", *SMALL, "--uniform", "0.3"))["ordering"]
    assert (asked["uniform"], asked["among"]) == (0.3, 8)


def test_accuracies_of_interest_can_be_named() -> None:
    found = json.loads(typed("--compare-ordering", *SMALL, "--accuracy", "0.6", "0.99"))
    assert [row["accuracy"] for row in found["savings"]["both"]] == [0.6, 0.99]
    assert found["savings"]["majority"][1]["reason"] == "reference_not_reached"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "no study with the address 'nowhere'"),
        ((), "Name a study"),
        (("--compare-ordering", "--uniform", "0.1"), "--uniform: Give a number from 0.2"),
        (("--compare-ordering", "--votes", "9000"), "at most"),
        (("--compare-ordering", "--replicates", "2"), "3 to 5000"),
        (("--compare-ordering", "--accuracy", "0.4"), "between 0.5"),
        (("--compare-ordering", "--seed", "-1"), "0 or more"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(arguments, message) -> None:
    with pytest.raises(CommandError, match=message):
        typed(*arguments)


def test_a_study_of_unknown_truth_is_refused() -> None:
    other = StudyFactory.create()
    with pytest.raises(CommandError, match="known to be true"):
        typed(other.slug)
