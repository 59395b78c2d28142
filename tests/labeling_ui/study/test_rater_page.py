"""A rater's page: what they judged and skipped, newest first, a page at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Judgment, Rater
from annotation.models.people import Role
from labeling_ui.study import rater_work
from tests.annotation.importing.reviewing import vote
from tests.factories import StudyFactory, comparison_task, member

pytestmark = pytest.mark.django_db


@pytest.fixture
def rated(monkeypatch):
    """Three comparisons judged by one rater, one of them skipped by them before."""
    monkeypatch.setattr(rater_work, "JUDGMENTS_PER_PAGE", 2)
    study = StudyFactory(slug="music", preset="cmi-pref")
    rater = member(study, name="Rosa Rater").raters.get()
    for n in range(3):
        vote(comparison_task(study, f"tune-{n}"), 1 + n % 2, rater=rater, presentation=[0, 1], confidence=4)
    Assignment.objects.create(
        task=comparison_task(study, "tune-9"), rater=rater, protocol_version=study.protocol_version,
        presentation=[0, 1], state=Assignment.State.SKIPPED, skip_reason="other", skip_comment="my cat sang along",
        expires_at=timezone.now(), closed_at=timezone.now() - timedelta(hours=1),
    )  # fmt: skip
    Rater.objects.filter(pk=rater.pk).update(n_skips=1)
    return rater


def page_of(client, rater, query=""):
    client.force_login(member(rater.study, Role.RESEARCHER))
    return client.get(reverse("rater", args=[rater.study.slug, rater.pseudonym]) + query).text


def test_judgments_are_readable_playable_and_paged(client, rated):
    page = page_of(client, rated)
    assert "Rosa Rater" in page
    assert page.index("tune-2") < page.index("tune-1")
    assert ">tune-0<" not in page
    newest = Judgment.objects.latest("pk")
    assert reverse("api_task_clips", args=["music", newest.task_id]) in page
    assert 'data-clip="a" data-clip-label="system-1"' in page
    assert "4 of 5 (Quite)" in page
    earlier = page_of(
        client, rated, f"?before={Judgment.objects.filter(task__external_id='tune-1').get().pk}"
    )
    assert ">tune-0<" in earlier
    assert "Earlier judgments" not in earlier


def test_skips_say_why(client, rated):
    page = page_of(client, rated)
    assert "my cat sang along" in page
    assert "Another reason" in page
    seconds = (timezone.now() - timedelta(days=1)).timestamp()
    assert "my cat" not in page_of(client, rated, f"?skips_before={int(seconds * 1e6)}")


def test_a_withdrawn_raters_judgments_are_not_listed(client, rated):
    rated.state = "withdrawn"
    rated.save(update_fields=["state"])
    page = page_of(client, rated)
    assert "tune-" not in page
    assert "my cat" not in page


def test_the_queries_do_not_grow_with_the_judgments(
    client, rated, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr(rater_work, "JUDGMENTS_PER_PAGE", 20)
    for n in range(5):
        vote(comparison_task(rated.study, f"more-{n}"), 1, rater=rated)
    client.force_login(member(rated.study, Role.RESEARCHER))
    page = reverse("rater", args=["music", rated.pseudonym])
    client.get(page)  # measures the rater's work
    with django_assert_max_num_queries(30):
        client.get(page)


def test_the_api_lists_skips_of_one_rater_or_reason(client, rated):
    client.force_login(member(rated.study, Role.RESEARCHER))
    path = reverse("api_skips", args=["music"])
    (row,) = client.get(path, {"rater": rated.pseudonym}).json()["results"]
    assert (row["item"], row["reason"], row["reason_title"]) == ("tune-9", "other", "Another reason")
    assert client.get(path, {"reason": "audio"}).json() == {"results": [], "next_before": None}
