"""Stored figures over HTTP."""

from __future__ import annotations

import pytest

from analytics.overview import figures
from tests import factories

pytestmark = pytest.mark.django_db


def test_before_the_first_computation_there_are_no_questions(api, world):
    response = api(world.researcher).get("studies/here/agreement/")
    assert response.json() == {"computed_at": None, "questions": {}}


def test_it_gives_what_is_stored(api, world):
    figures.recompute_figures(world.study.pk)
    found = api(world.admin).get("studies/here/agreement/").json()
    assert list(found["questions"]) == ["alignment", "musicality"]
    assert found["questions"]["alignment"]["ratings"] == 1
    assert found["questions"]["alignment"]["reason"] == "no_pairable_units"
    assert found["computed_at"]


def test_it_never_computes(api, world, monkeypatch):
    figures.recompute_figures(world.study.pk)
    monkeypatch.setattr(figures, "scan_study", lambda study: pytest.fail("computed on a request"))
    assert api(world.researcher).get("studies/here/agreement/").status_code == 200


def test_it_takes_four_queries(api, world, django_assert_num_queries):
    """The account, the membership with its study, and the two that figures.current makes."""
    figures.recompute_figures(world.study.pk)
    researcher = api(world.researcher)
    with django_assert_num_queries(4):
        researcher.get("studies/here/agreement/")


@pytest.mark.parametrize("role", ["annotator", "expert"])
def test_raters_may_not_see_it(api, world, role):
    assert api(getattr(world, role)).get("studies/here/agreement/").status_code == 403


def test_strangers_hear_that_nothing_is_there(api, world, elsewhere):
    assert api(elsewhere.admin).get("studies/here/agreement/").status_code == 404
    assert api(factories.UserFactory()).get("studies/here/agreement/").status_code == 404


def test_nobody_in_particular_is_refused(api, world):
    assert api(None).get("studies/here/agreement/").status_code == 401
