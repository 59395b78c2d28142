"""Whether raters see what a model says, set on the settings page."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Study
from scoring.models import Scorer, ScoringRun
from tests.factories import StudyFactory, comparison_task, member

pytestmark = pytest.mark.django_db

PAGE = "hint_rule"


@pytest.fixture
def study() -> Study:
    study = StudyFactory(slug="s", preset="cmi-pref")
    for key in ("cmi-rm", "clapscore"):
        scorer = Scorer.objects.create(key=key, digest=key)
        ScoringRun.objects.create(study=study, scorer=scorer, metric=key, state="done")
    return study


@pytest.fixture
def client(client, study):
    client.force_login(member(study, "researcher"))
    return client


def rule() -> dict:
    return Study.objects.get(slug="s").rules.get("hints", {})


def test_it_offers_what_says_something_of_the_questions_and_saves_it_in_the_units_of_the_rules(client):
    page = client.get(reverse(PAGE, args=["s"])).content.decode()
    assert 'value="cmi-rm"' in page
    assert 'value="clapscore"' not in page
    answer = client.post(reverse(PAGE, args=["s"]), {"scorer": "cmi-rm", "withheld": "12.5"}, follow=True)
    assert "Saved." in answer.content.decode()
    assert 'value="12.5"' in answer.content.decode()
    assert rule() == {"scorer": "cmi-rm", "withheld": 0.125}


@pytest.mark.parametrize("withheld", ["5", "95", "", "a"])
def test_at_least_a_tenth_is_kept_from_raters(client, withheld):
    answer = client.post(reverse(PAGE, args=["s"]), {"scorer": "cmi-rm", "withheld": withheld})
    assert list(answer.context["form"].errors) == ["withheld"]
    assert rule() == {}


def test_it_is_switched_off_with_an_empty_share_which_stays_as_it_was(client):
    client.post(reverse(PAGE, args=["s"]), {"scorer": "cmi-rm", "withheld": "20"})
    client.post(reverse(PAGE, args=["s"]), {"scorer": "", "withheld": ""})
    assert rule() == {"scorer": "", "withheld": 0.2}


@pytest.mark.parametrize(
    ("preset", "said"), [("orca", "No model that predicts"), ("mushra", "No question of this study")]
)
def test_where_nothing_can_be_shown_the_page_says_why(client, preset, said):
    study = StudyFactory(preset=preset)
    client.force_login(member(study, "researcher"))
    assert said in client.get(reverse(PAGE, args=[study.slug])).content.decode()


def test_the_page_of_the_study_says_that_scores_are_shown(client, study):
    comparison_task(study, "one")
    Study.objects.update(n_tasks=1)
    assert "Raters see a model's prediction" not in client.get(reverse("study", args=["s"])).content.decode()
    client.post(reverse(PAGE, args=["s"]), {"scorer": "cmi-rm", "withheld": "12.5"})
    page = client.get(reverse("study", args=["s"])).content.decode()
    assert "Raters see a model's prediction, except in 12.5 % of tasks." in page


def test_raters_cannot_change_it(client, study):
    client.force_login(member(study))
    assert client.post(reverse(PAGE, args=["s"]), {"scorer": "cmi-rm", "withheld": "10"}).status_code == 403
    assert rule() == {}
