"""A study's settings, each section saved by itself: in words and per cent, checked field by field."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from django.urls import reverse

from analytics.overview import figures
from annotation.listening import checks
from annotation.listening.rules.checks import CheckRules
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import AuditEvent, ListeningCheck, OrderingPolicy, Study
from annotation.rating.rules import ordering, stopping
from annotation.studies.settings import declared
from labeling_ui.study.settings_forms import SECTIONS
from scoring.models import Scorer, ScoringRun
from tests.analytics.votes import vote
from tests.factories import StudyFactory, comparison_task, member

pytestmark = pytest.mark.django_db

# What a person fills in, by section.
LISTENING = {
    "short_seconds": "8", "short_share": "60", "long_seconds": "20", "long_share": "12.5", "min_switches": "2",
    "instruction_seconds": "0", "loudness": "off", "fade_ms": "10", "break_minutes": "20", "stop_minutes": "40",
    "change_minutes": "0",
}  # fmt: skip
CHECKS = {"require": ["level", "huggins"], "gate": "on", "valid_hours": "12", "recheck_minutes": "30"}
STOPPING = {"question": "alignment", "threshold": "93.5", "most": "9"}
ORDERING = {
    "order": "policy", "uniform": "25", "among": "8", "uncertainty": "1", "disagreement": "0.5", "coverage": "0",
    "scorer": "",
}  # fmt: skip
HINTS = {"scorer": "cmi-rm", "withheld": "12.5"}
FILLED = {
    "listening": LISTENING,
    "checks": CHECKS,
    "stopping": STOPPING,
    "ordering": ORDERING,
    "hints": HINTS,
}


@pytest.fixture
def study() -> Study:
    """A draft that compares pairs, and that two scorers have scored."""
    study = StudyFactory(slug="s", title="Bird calls", preset="cmi-pref", overlap=3, rules={}, state="draft")
    for key in ("cmi-rm", "clapscore"):
        scorer = Scorer.objects.create(key=key, digest=key)
        ScoringRun.objects.create(study=study, scorer=scorer, metric=key, state="done")
    return study


def path(section: str, slug: str = "s") -> str:
    return reverse(SECTIONS[section].url_name, args=[slug])


def save(client, section: str, **changed):
    return client.post(path(section), {**FILLED[section], **changed}, follow=True)


def stored(section: str) -> dict:
    return Study.objects.get(slug="s").rules.get(section, {})


def test_title_description_and_minutes_are_changed_and_logged(signed_in, study):
    filled = {"title": "Bird songs", "description": "Use headphones.", "lease_minutes": "30"}
    assert "Saved." in signed_in.post(reverse("settings", args=["s"]), filled, follow=True).text
    study.refresh_from_db()
    assert (study.title, study.description, study.lease_minutes) == ("Bird songs", "Use headphones.", 30)
    assert AuditEvent.objects.get(action="study.changed").data["title"] == ["Bird calls", "Bird songs"]
    for field, value in (("title", ""), ("lease_minutes", "0"), ("lease_minutes", "a")):
        answer = signed_in.post(reverse("settings", args=["s"]), {**filled, field: value})
        assert list(answer.context["form"].errors) == [field]
    study.refresh_from_db()
    assert study.title == "Bird songs"


# ── Every section ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("section", "rules"),
    [
        (
            "listening",
            asdict(
                ListeningRules(
                    short_seconds=8, short_share=0.6, long_seconds=20, long_share=0.125, min_switches=2, fade_ms=10,
                    loudness="off", instruction_seconds=0, break_minutes=20, stop_minutes=40, change_minutes=0,
                )
            ),
        ),
        ("checks", {"require": ["level", "huggins"], "gate": True, "valid_hours": 12, "recheck_minutes": 30}),
        ("stopping", {"question": "alignment", "most": 9, "threshold": 0.935}),
        ("ordering", {"uniform": 0.25, "among": 8, "uncertainty": 1, "disagreement": 0.5, "coverage": 0}),
        ("hints", {"scorer": "cmi-rm", "withheld": 0.125}),
    ],
    ids=FILLED,
)  # fmt: skip
def test_it_is_saved_in_the_units_of_the_rules_logged_and_shown_as_it_was_typed(signed_in, section, rules):
    answer = save(signed_in, section)
    assert "Saved." in answer.text
    assert rules.items() <= all_values(section).items()
    assert AuditEvent.objects.filter(action="study.changed", data__has_key=section).count() == 1
    form = answer.context["form"]
    typed = {name: str(form.initial[name]) for name in FILLED[section] if form.initial[name]}
    assert typed == {name: str(FILLED[section][name]).replace("on", "True") for name in typed}
    save(signed_in, section)
    assert AuditEvent.objects.filter(action="study.changed").count() == 1


def all_values(section: str) -> dict:
    rules = Study.objects.get(slug="s").rules
    return asdict(ListeningRules.of(rules)) if section == "listening" else rules[section]


@pytest.mark.parametrize(
    ("section", "field", "value", "problem"),
    [
        ("listening", "short_seconds", "-1", "0"),
        ("listening", "short_share", "101", "100"),
        ("listening", "long_share", "", "required"),
        ("listening", "min_switches", "1.5", "whole number"),
        ("listening", "fade_ms", "51", "50"),
        ("listening", "loudness", "loud", "valid choice"),
        ("listening", "stop_minutes", "20", ""),
        ("checks", "valid_hours", "0", "1"),
        ("checks", "valid_hours", "", "required"),
        ("checks", "recheck_minutes", "-1", "0"),
        ("checks", "require", "echo", "valid choice"),
        ("stopping", "question", "evidence", "Select a valid choice"),
        ("stopping", "threshold", "100", "99.9"),
        ("stopping", "threshold", "50", "51"),
        ("stopping", "threshold", "", "required"),
        ("stopping", "most", "", "required"),
        ("stopping", "most", "3", "more than the 3"),
        ("stopping", "most", "1001", "1000"),
        ("stopping", "most", "x", "whole number"),
        ("ordering", "uniform", "19", "20"),
        ("ordering", "uniform", "", "required"),
        ("ordering", "among", "3", "4"),
        ("ordering", "coverage", "", "required"),
        ("ordering", "disagreement", "-1", "0"),
        ("ordering", "scorer", "parrot", "Select a valid choice"),
        ("ordering", "order", "parrot", "Select a valid choice"),
        ("hints", "withheld", "5", "10"),  # at least a tenth is kept from raters
        ("hints", "withheld", "95", "90"),
        ("hints", "withheld", "", "required"),
        ("hints", "withheld", "a", "number"),
    ],
)
def test_a_fault_is_told_at_its_field_and_changes_nothing(signed_in, section, field, value, problem):
    errors = save(signed_in, section, **{field: value}).context["form"].errors
    assert list(errors) == [field]
    assert problem in errors[field][0]
    assert stored(section) == {}


@pytest.mark.parametrize(
    ("section", "emptied", "rules"),
    [
        ("checks", {"valid_hours": "24", "recheck_minutes": "0"}, {"require": [], "gate": False}),
        ("stopping", {**STOPPING, "question": ""}, {"question": ""}),
        ("stopping", {"question": "", "threshold": "", "most": ""}, {"threshold": 0.935, "most": 9}),
        ("ordering", {"order": "", "uniform": "", "among": ""}, {}),
        ("hints", {"scorer": "", "withheld": ""}, {"scorer": "", "withheld": 0.125}),
    ],
)
def test_it_is_switched_off_and_numbers_left_empty_stay_as_they_were(signed_in, section, emptied, rules):
    save(signed_in, section)
    signed_in.post(path(section), emptied)
    assert rules.items() <= stored(section).items()
    rules_now = Study.objects.get(slug="s").rules
    assert (stopping.settings(rules_now), ordering.settings(rules_now)) == (None, None)
    assert OrderingPolicy.objects.count() == (section == "ordering")


@pytest.mark.parametrize(
    ("section", "fields", "reason"),
    [
        ("stopping", {"preset": "orca"}, "compares no pairs"),
        ("ordering", {"order": Study.Order.LISTED}, "in the listed order"),
        ("hints", {"preset": "orca"}, "No model that predicts"),
        ("hints", {"preset": "mushra"}, "No question of this study"),
    ],
)
def test_where_nothing_can_be_set_the_page_says_why(client, section, fields, reason):
    study = StudyFactory(**fields)
    client.force_login(member(study, "admin"))
    assert reason in client.get(path(section, study.slug)).text
    listed = path(section, study.slug) in client.get(reverse("settings", args=[study.slug])).text
    assert listed is (reason == "No model that predicts")


# ── What one section has of its own ──────────────────────────────────────────


def test_loudness_stays_as_it_is_once_the_study_runs(signed_in, study):
    Study.objects.update(state=Study.State.RUNNING)
    save(signed_in, "listening")
    rules = ListeningRules.of(Study.objects.get(slug="s").rules)
    assert (rules.loudness, rules.fade_ms) == ("match", 10)


def test_the_kinds_of_checks_are_those_of_the_model():
    assert [kind for kind, _ in declared(CheckRules)["require"].choices] == ListeningCheck.Kind.values


def test_a_chance_that_so_few_votes_never_reach_says_how_many_do(signed_in):
    assert "give 6 or more" in save(signed_in, "stopping", threshold="99", most="5").text


def test_the_study_page_tells_what_stopping_early_saved_as_computed_before(signed_in, study):
    save(signed_in, "stopping", threshold="90")
    for name, choices in (("clear", (1, 1, 1)), ("later", (1, 2, 1, 1, 1, 1)), ("open", (1, 2, 1))):
        task = comparison_task(study, name, overlap=max(3, len(choices)))
        for choice in choices:
            vote(task, question="alignment", choice=choice)
    assert "votes saved" not in signed_in.get(reverse("study", args=["s"])).text
    figures.recompute_figures(study.pk)
    page = signed_in.get(reverse("study", args=["s"])).text
    assert '<span class="number">9</span> votes saved' in page  # six and three
    assert "2 of 3 (66.7" in page
    assert "6 votes" in page


def test_a_policy_of_ordering_has_a_version_and_something_has_to_weigh(signed_in):
    nothing = {"uncertainty": "0", "disagreement": "0", "coverage": "0"}
    assert list(save(signed_in, "ordering", **nothing).context["form"].errors) == ["uncertainty"]
    assert "Version 1 is in force." in save(signed_in, "ordering").text


def test_hints_are_offered_of_what_says_something_of_the_questions_and_told_on_the_studys_page(
    signed_in, study
):
    page = signed_in.get(path("hints")).text
    assert 'value="cmi-rm"' in page
    assert 'value="clapscore"' not in page
    comparison_task(study, "one")
    Study.objects.update(n_tasks=1)
    assert "Raters see a model's prediction" not in signed_in.get(reverse("study", args=["s"])).text
    save(signed_in, "hints")
    page = signed_in.get(reverse("study", args=["s"])).text
    assert "Raters see a model's prediction, except in 12.5 % of tasks." in page


def test_a_researcher_sees_each_raters_latest_checks_and_one_raters_history(signed_in, study):
    user = member(study)
    assert "none yet" not in signed_in.get(reverse("study", args=["s"])).text  # no column without checks
    checks.set_check_rules(study, actor=None, require=["antiphase"])
    for _ in range(2):
        check = checks.start_check(user, "s", kind="antiphase")
        for number, trial in enumerate(check.trials):
            checks.answer_trial(user, check.pk, trial=number, choice=(trial["key"] + 1) % 3)
    overview = signed_in.get(reverse("study", args=["s"])).text
    assert overview.count("Headphones: the quietest tone: not passed (0)") == 1
    page = signed_in.get(reverse("rater", args=["s", study.raters.get(user=user).pseudonym]))
    assert [run.n_correct for run in page.context["checks"]] == [0, 0]
