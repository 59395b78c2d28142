"""The course of a study: the curve of its judgments, its pace, and which items are disputed most."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from analytics.overview import figures
from analytics.overview.course import Course, course_from_json, course_json
from annotation.models import Assignment, Judgment, Rater, Study
from annotation.models.people import Role
from tests.analytics.votes import vote
from tests.factories import StudyFactory, comparison_task, member, rating_task

pytestmark = pytest.mark.django_db

RATED = Judgment.Origin.RATED


def course_of(study: Study) -> Course:
    found = course_from_json({"course": course_json(study)})
    assert found is not None
    return found


def test_the_curve_counts_what_counts_and_the_pace_only_what_was_judged_here():
    study, now = StudyFactory(slug="s", overlap=9), timezone.now()
    task = rating_task(study, "one")
    for days in (0.1, 1, 5, 6):
        vote(task, 3, origin=RATED, submitted_at=now - timedelta(days=days))
    vote(task, 3, submitted_at=now - timedelta(days=6))
    vote(task, 3, origin=RATED, excluded=True, submitted_at=now)
    vote(task, 3, origin=RATED, submitted_at=now - timedelta(days=40))
    course = course_of(study)
    assert (course.bucket, course.total, course.recent) == ("day", 6, 4)
    assert course.per_day == pytest.approx(4 / 6, rel=0.01)
    assert course.days_left(10) == pytest.approx(15, rel=0.01)


def test_the_items_with_the_widest_split_come_first():
    study = StudyFactory(slug="s")
    for name, values in (("agreed", (4, 4)), ("apart", (1, 5)), ("near", (3, 4)), ("alone", (1,))):
        task = rating_task(study, name)
        for value in values:
            vote(task, value)
    assert [(one.item, one.n, one.spread) for one in course_of(study).disputed] == [
        ("apart", 2, 1.0), ("near", 2, 0.25),
    ]  # fmt: skip


def test_split_preferences_are_disputed_by_the_share_of_pairs_that_differ():
    study = StudyFactory(slug="s", preset="cmi-pref")
    task = comparison_task(study, "tune")
    for choice in (1, 1, 2):
        vote(task, question="alignment", choice=choice)
    (one,) = course_of(study).disputed
    assert (one.item, one.question, one.spread) == ("tune", "alignment", 0.6667)


def test_the_overview_names_what_needs_attention_and_who_is_behind_a_code(client):
    study = StudyFactory(slug="s", overlap=4)
    person = member(study, name="Rosa Rater")
    task = rating_task(study, "apart")
    vote(task, 1, rater=person.raters.get(), origin=RATED, submitted_at=timezone.now() - timedelta(days=2))
    vote(task, 5, origin=RATED, submitted_at=timezone.now())
    Rater.objects.filter(user=person).update(n_skips=9)
    Assignment.objects.create(
        task=task, rater=person.raters.get(), protocol_version=study.protocol_version, presentation=[0],
        state=Assignment.State.SKIPPED, skip_reason="audio", skip_comment="silence", expires_at=timezone.now(),
        closed_at=timezone.now(),
    )  # fmt: skip
    figures.recompute_figures(study.pk)
    client.force_login(member(study, Role.RESEARCHER))
    page = client.get(reverse("study", args=["s"])).text
    assert "Rosa Rater" in page
    assert "skipped 9 tasks and judged 1" in page
    assert f"{reverse('item_history', args=['s', task.item_version.item_id])}#task-{task.pk}" in page
    assert "2 missing judgments come by about" in page
    assert "<polyline" in page
    listed = f"{reverse('skipped', args=['s'])}?reason=audio"
    assert listed in page
    assert "silence" in client.get(listed).text
    assert "silence" not in client.get(f"{reverse('skipped', args=['s'])}?reason=other").text
