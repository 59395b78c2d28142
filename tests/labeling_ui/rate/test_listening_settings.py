"""The settings of listening: in words and per cent, checked field by field, and told to raters."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.listening.rules.coverage import ListeningRules
from annotation.models import AuditEvent, Study
from annotation.protocols import preset
from labeling_ui.rate.page_data import listening_requirements
from tests.factories import StudyFactory, member

pytestmark = pytest.mark.django_db

FILLED = {
    "short_seconds": "8",
    "short_share": "60",
    "long_seconds": "20",
    "long_share": "12.5",
    "min_switches": "2",
    "instruction_seconds": "0",
    "loudness": "off",
    "fade_ms": "10",
    "break_minutes": "20",
    "stop_minutes": "40",
    "change_minutes": "0",
}
PAGE = "listening_rules"


@pytest.fixture
def study() -> Study:
    return StudyFactory(slug="s", preset="cmi-pref", rules={}, state=Study.State.DRAFT)


@pytest.fixture
def client(client, study):
    client.force_login(member(study, "researcher"))
    return client


def test_every_setting_is_saved_in_the_units_of_the_rules(client, study):
    answer = client.post(reverse(PAGE, args=["s"]), FILLED, follow=True)
    assert "Saved." in answer.content.decode()
    study.refresh_from_db()
    assert ListeningRules.of(study.rules) == ListeningRules(
        short_seconds=8,
        short_share=0.6,
        long_seconds=20,
        long_share=0.125,
        min_switches=2,
        fade_ms=10,
        loudness="off",
        instruction_seconds=0,
        break_minutes=20,
        stop_minutes=40,
        change_minutes=0,
    )
    assert AuditEvent.objects.get(action="study.changed").data["listening"]["fade_ms"] == [5, 10]


def test_what_is_shown_can_be_saved_again_without_a_change(client, study):
    page = client.get(reverse("settings", args=["s"]))
    shown = {section.key: form for section, form in page.context["sections"]}["listening"].initial
    assert (shown["short_seconds"], shown["short_share"]) == (10, 50)
    client.post(reverse(PAGE, args=["s"]), shown)
    assert not AuditEvent.objects.filter(action="study.changed").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("short_seconds", "-1"),
        ("short_share", "101"),
        ("long_share", ""),
        ("min_switches", "1.5"),
        ("fade_ms", "51"),
        ("loudness", "loud"),
        ("stop_minutes", "20"),
    ],
)
def test_a_fault_is_shown_at_its_field_and_changes_nothing(client, study, field, value):
    answer = client.post(reverse(PAGE, args=["s"]), {**FILLED, field: value})
    assert list(answer.context["form"].errors) == [field]
    study.refresh_from_db()
    assert study.rules == {}


def test_loudness_stays_as_it_is_once_the_study_runs(client, study):
    Study.objects.update(state=Study.State.RUNNING)
    client.post(reverse(PAGE, args=["s"]), FILLED)
    study.refresh_from_db()
    rules = ListeningRules.of(study.rules)
    assert (rules.loudness, rules.fade_ms) == ("match", 10)


def test_raters_do_not_come_here(client, study):
    client.force_login(member(study))
    assert client.post(reverse(PAGE, args=["s"]), FILLED).status_code == 403


# ── What raters are told ─────────────────────────────────────────────────────


def test_the_guidelines_say_what_must_be_heard(client, study):
    page = client.get(reverse("guidelines", args=["s"])).content.decode()
    assert "hear at least 10 seconds or 50 %, whichever is more." in page
    assert "Switch between the clips at least once." in page


@pytest.mark.parametrize(
    ("rules", "sentences"),
    [
        (
            {"short_seconds": 0, "short_share": 0.8, "long_share": 0, "min_switches": 0},
            [
                "Of each clip of up to a minute, hear at least 80 %.",
                "Of each longer clip, hear at least 30 seconds.",
            ],
        ),
        (
            {"short_seconds": 0, "short_share": 0, "long_seconds": 0, "long_share": 0, "min_switches": 2},
            ["Switch between the clips at least 2 times."],
        ),
    ],
)
def test_what_is_not_required_is_not_told(rules, sentences):
    assert listening_requirements(preset("cmi-pref"), ListeningRules(**rules)) == sentences


def test_answers_in_words_may_be_judged_without_listening():
    assert listening_requirements(preset("orca"), ListeningRules()) == []
