"""Clips for those who run a study: with the systems' names, matched in loudness, and for nobody who rates."""

from __future__ import annotations

import pytest

from annotation.models.people import Role
from tests.factories import StudyFactory, comparison_task, member

pytestmark = pytest.mark.django_db


def fetch(client, user, path):
    client.force_login(user)
    return client.get(f"/api/v1/studies/{path}")


@pytest.fixture
def task():
    return comparison_task(StudyFactory(slug="s", preset="cmi-pref"), "one")


def test_whoever_runs_the_study_hears_a_task_and_learns_the_systems(client, task):
    researcher = member(task.study, Role.RESEARCHER)
    for path in (f"s/tasks/{task.pk}/clips/", f"s/items/{task.item_version.item_id}/clips/"):
        clips = fetch(client, researcher, path).json()["clips"]
        assert [(one["name"], one["label"], one["group"]) for one in clips] == [
            ("a", "system-1", "candidates"),
            ("b", "system-2", "candidates"),
        ]


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.EXPERT])
def test_whoever_rates_gets_neither_names_nor_sounds(client, task, role):
    clip = task.slots.first().candidate.clip_id
    rater = member(task.study, role)
    for path in (f"tasks/{task.pk}/clips/", f"items/{task.item_version.item_id}/clips/", f"clips/{clip}/"):
        assert fetch(client, rater, f"s/{path}").status_code == 403


def test_a_clip_of_another_study_is_not_there(client, task):
    other = StudyFactory(slug="other")
    clip = task.slots.first().candidate.clip_id
    assert fetch(client, member(other, Role.ADMIN), f"other/clips/{clip}/").status_code == 404
