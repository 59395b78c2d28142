from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.listening import checks
from annotation.models import Study
from tests.factories import member

pytestmark = pytest.mark.django_db


@pytest.fixture
def rater(client, study):
    user = member(study)
    client.force_login(user)
    client.post(reverse("guidelines", args=["s"]))
    return user


def require(study: Study, *kinds: str) -> None:
    checks.set_check_rules(study, actor=None, require=list(kinds))


def test_the_work_waits_for_a_required_check(client, study, rater):
    require(study, "level")
    assert client.get(reverse("work", args=["s"])).url == reverse("checks", args=["s"])
    check = checks.start_check(rater, "s", kind="level")
    checks.answer_trial(rater, check.pk, trial=0, choice=0)
    assert client.get(reverse("work", args=["s"])).status_code == 200


def test_guidelines_come_before_checks(client, study):
    require(study, "level")
    client.force_login(member(study))
    assert client.get(reverse("work", args=["s"])).url == reverse("guidelines", args=["s"])


def test_a_study_without_checks_has_no_page_of_them(client, study, rater):
    assert client.get(reverse("checks", args=["s"])).url == reverse("work", args=["s"])


def test_the_page_shows_which_are_done_and_which_are_not(client, study, rater):
    require(study, "level", "antiphase")
    check = checks.start_check(rater, "s", kind="level")
    checks.answer_trial(rater, check.pk, trial=0, choice=0)
    page = client.get(reverse("checks", args=["s"]))
    assert [standing.state for _, standing in page.context["rows"]] == ["valid", "due"]
    assert page["Cache-Control"].startswith("max-age=0, no-cache, no-store")


def test_a_check_that_is_exhausted_says_when_it_is_possible_again(client, study, rater):
    require(study, "antiphase")
    for _ in range(3):
        check = checks.start_check(rater, "s", kind="antiphase")
        for number, trial in enumerate(check.trials):
            checks.answer_trial(rater, check.pk, trial=number, choice=(trial["key"] + 1) % 3)
    assert "possible again from" in client.get(reverse("checks", args=["s"])).text


def test_those_who_run_the_study_have_no_page_of_checks(client, study, researcher):
    require(study, "level")
    client.force_login(researcher)
    assert client.get(reverse("checks", args=["s"])).status_code == 403
