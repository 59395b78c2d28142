from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import Rater, Study
from annotation.models.people import Role
from tests.factories import StudyFactory, UserFactory, member, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = StudyFactory(title="Bells")
    for number in range(4):
        rating_task(study, f"bell-{number}")
    return study


def page_of(client, user) -> str:
    client.force_login(user)
    return client.get(reverse("home")).text


def test_a_rater_sees_how_far_they_are_and_the_way_on(client, study):
    user = member(study)
    Rater.objects.update(n_judgments=3)
    page = page_of(client, user)
    assert "3 of 4 tasks done" in page
    assert "Continue rating" in page
    assert reverse("work", args=[study.slug]) in page


def test_a_rater_who_has_not_begun_starts(client, study):
    assert "Start rating" in page_of(client, member(study))


@pytest.mark.parametrize(
    ("model", "state", "sentence"),
    [
        (Study, "paused", "has been paused"),
        (Study, "draft", "not open for rating yet"),
        (Study, "closed", "Thank you"),
        (Rater, "paused", "Ask the researcher who invited you."),
    ],
)
def test_a_study_or_a_rater_at_rest_is_offered_no_work_and_told_why(client, study, model, state, sentence):
    user = member(study)
    model.objects.update(state=state)
    page = page_of(client, user)
    assert sentence in page
    assert reverse("work", args=[study.slug]) not in page


def test_researchers_are_led_to_the_study_and_not_to_rating(client, study):
    page = page_of(client, member(study, Role.RESEARCHER))
    assert reverse("study", args=[study.slug]) in page
    assert reverse("work", args=[study.slug]) not in page


def test_only_who_may_create_studies_is_offered_to(client):
    assert reverse("new_study") in page_of(client, UserFactory(may_create_studies=True))
    assert reverse("new_study") not in page_of(client, UserFactory())


def test_nobody_sees_a_study_they_are_not_in(client, study):
    assert "Bells" not in page_of(client, member(StudyFactory()))


def test_its_queries_do_not_grow_with_the_studies(client, django_assert_num_queries):
    user = UserFactory()
    for study in StudyFactory.create_batch(5):
        member(study)
        study.memberships.update(user=user)
        Rater.objects.filter(study=study).update(user=user)
    client.force_login(user)
    with django_assert_num_queries(4):  # the account, its studies, who it is in them, what was returned
        client.get(reverse("home"))


def test_each_language_is_offered_in_its_own_name(client, study):
    client.post(reverse("set_language"), {"language": "zh-hans"})
    page = page_of(client, member(study))
    assert 'lang="en">English</button>' in page
    assert 'aria-current="true">简体中文</span>' in page
