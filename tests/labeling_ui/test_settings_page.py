from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import AuditEvent
from tests.factories import StudyFactory, member

pytestmark = pytest.mark.django_db

FILLED = {"title": "Bird songs", "description": "Use headphones.", "lease_minutes": "30"}


def test_it_changes_title_description_and_minutes(client, admin, study):
    client.force_login(admin)
    answer = client.post(reverse("settings", args=["s"]), FILLED, follow=True)
    study.refresh_from_db()
    assert (study.title, study.description, study.lease_minutes) == ("Bird songs", "Use headphones.", 30)
    assert "Saved." in answer.content.decode()
    assert AuditEvent.objects.get(action="study.changed").data["title"] == ["Bird calls", "Bird songs"]


@pytest.mark.parametrize(("field", "value"), [("title", ""), ("lease_minutes", "0"), ("lease_minutes", "a")])
def test_a_fault_is_shown_at_its_field_and_changes_nothing(client, admin, study, field, value):
    client.force_login(admin)
    answer = client.post(reverse("settings", args=["s"]), {**FILLED, field: value})
    assert list(answer.context["form"].errors) == [field]
    study.refresh_from_db()
    assert study.title == "Bird calls"


@pytest.mark.parametrize(
    ("preset", "shown"),
    [
        ("orca", ["correctness", "Completely correct", "Needed the audio", "ordinal", "version 1"]),
        ("cmi-pref", ["alignment", "A / B", "nominal", "text, up to 600 characters", "How sure are you?"]),
    ],
)
def test_it_shows_what_the_protocol_asks(client, preset, shown):
    study = StudyFactory(preset=preset)
    client.force_login(member(study, "admin"))
    page = client.get(reverse("settings", args=[study.slug])).content.decode()
    assert [text for text in shown if text not in page] == []
    assert reverse("guidelines", args=[study.slug]) in page
