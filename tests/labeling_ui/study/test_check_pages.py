from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.listening import checks
from annotation.listening.rules.checks import CheckRules
from annotation.models import ListeningCheck, Study
from annotation.studies.settings import declared
from tests.factories import member

pytestmark = pytest.mark.django_db

WANTED = {"require": ["level", "huggins"], "gate": "on", "valid_hours": "12", "recheck_minutes": "30"}


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
    assert "possible again from" in client.get(reverse("checks", args=["s"])).content.decode()


def test_those_who_run_the_study_have_no_page_of_checks(client, study, researcher):
    require(study, "level")
    client.force_login(researcher)
    assert client.get(reverse("checks", args=["s"])).status_code == 403


def test_a_researcher_says_what_is_required(client, study, researcher):
    client.force_login(researcher)
    answer = client.post(reverse("check_settings", args=["s"]), WANTED)
    assert answer.url == reverse("settings", args=["s"])
    study.refresh_from_db()
    assert study.rules["checks"] == {
        "require": ["level", "huggins"], "gate": True, "valid_hours": 12, "recheck_minutes": 30
    }  # fmt: skip
    sections = client.get(reverse("settings", args=["s"])).context["sections"]
    assert {section.key: form for section, form in sections}["checks"].initial["require"] == [
        "level",
        "huggins",
    ]


def test_nothing_ticked_is_nothing_required(client, study, researcher):
    client.force_login(researcher)
    require(study, "level")
    client.post(reverse("check_settings", args=["s"]), {"valid_hours": "24", "recheck_minutes": "0"})
    study.refresh_from_db()
    assert study.rules["checks"]["require"] == []
    assert study.rules["checks"]["gate"] is False


@pytest.mark.parametrize(
    ("field", "value"),
    [("valid_hours", "0"), ("valid_hours", ""), ("recheck_minutes", "-1"), ("require", "echo")],
)
def test_a_setting_that_makes_no_sense_is_shown_at_its_field(client, study, researcher, field, value):
    client.force_login(researcher)
    answer = client.post(reverse("check_settings", args=["s"]), {**WANTED, field: value})
    assert list(answer.context["form"].errors) == [field]
    study.refresh_from_db()
    assert "checks" not in study.rules


def test_the_kinds_are_those_of_the_model():
    assert [kind for kind, _ in declared(CheckRules)["require"].choices] == ListeningCheck.Kind.values


def fail(user) -> None:
    check = checks.start_check(user, "s", kind="antiphase")
    for number, trial in enumerate(check.trials):
        checks.answer_trial(user, check.pk, trial=number, choice=(trial["key"] + 1) % 3)


def test_a_researcher_sees_each_raters_latest_results_and_one_raters_history(client, study, researcher):
    require(study, "antiphase")
    user = member(study)
    for _ in range(2):
        fail(user)
    client.force_login(researcher)
    overview = client.get(reverse("study", args=["s"])).content.decode()
    assert overview.count("Headphones: the quietest tone: not passed (0)") == 1
    page = client.get(reverse("rater", args=["s", study.raters.get(user=user).pseudonym]))
    assert [run.n_correct for run in page.context["checks"]] == [0, 0]


def test_a_study_without_checks_has_no_column_for_them(client, study, researcher):
    member(study)
    client.force_login(researcher)
    assert "none yet" not in client.get(reverse("study", args=["s"])).content.decode()
