"""`manage.py plan`, as typed."""

from __future__ import annotations

import json
from functools import partial

import pytest
from django.core.management import CommandError

from tests.analytics.reports import reading
from tests.analytics.votes import votes
from tests.factories import StudyFactory, rating_task

pytestmark = pytest.mark.django_db
typed = partial(reading.typed, "plan")


def test_without_a_study_published_figures_answer():
    said = typed(
        "--no-study", "--kind", "preference", "--goal", "power", "--win-rate", "0.65", "--overlap", "1"
    )
    assert said.startswith("About ")
    assert "Pilot: published figures" in said
    assert "exact two-sided binomial" in said


def test_options_replace_what_is_known_and_json_has_all_of_it():
    found = json.loads(
        typed(
            "--no-study", "--goal", "width", "--half-width", "0.25", "--overlap", "1", "--votes-per-rater", "1",
            "--sd-raters", "0", "--sd-items", "0", "--sd-outputs", "0", "--sd-residual", "1", "--systems", "1",
            "--seconds", "36", "--json",
        )
    )  # fmt: skip
    assert (found["votes"], found["hours"]) == (64, 0.64)
    assert found["asked"]["half_width"] == 0.25
    assert len(found["alternatives"]) == 7


def test_a_study_is_planned_from_its_votes():
    study = StudyFactory()
    for n in range(6):
        votes(rating_task(study, f"item-{n}"), [1 + n % 5, 1 + (n + 1) % 5])
    assert "Pilot: 12 votes of this study" in typed(study.slug, "--goal", "width", "--half-width", "0.5")


def test_the_same_seed_tries_the_same_studies():
    asked = ("--no-study", "--goal", "power", "--difference", "1", "--try", "20", "--json")
    first, again = json.loads(typed(*asked)), json.loads(typed(*asked))
    assert first["simulation"] == again["simulation"]
    assert first["simulation"]["runs"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name a study"),
        (("nowhere",), "no study with the address"),
        (("--no-study", "--goal", "majority"), "of comparisons"),
        (("--no-study", "--half-width", "0"), "above zero"),
        (("--no-study", "--overlap", "0"), "overlap"),
        (("--no-study", "--kind", "preference", "--ties", "1.5"), "ties"),
    ],
)
def test_what_makes_no_sense_is_said(arguments, message):
    with pytest.raises(CommandError, match=message):
        typed(*arguments)


def test_a_question_that_is_not_asked_is_named():
    study = StudyFactory()
    with pytest.raises(CommandError, match="correctness"):
        typed(study.slug, "--question", "beauty")
