"""What a study asks of listening, told to its raters."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.listening.rules.coverage import ListeningRules
from annotation.protocols import preset
from labeling_ui.rate.page_data import listening_requirements
from tests.factories import StudyFactory, member


@pytest.mark.django_db
def test_the_guidelines_say_what_must_be_heard(client):
    client.force_login(member(StudyFactory(slug="s", preset="cmi-pref", rules={})))
    page = client.get(reverse("guidelines", args=["s"])).text
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
