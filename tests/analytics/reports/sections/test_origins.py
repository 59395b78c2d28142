"""Simulated votes, and tasks chosen by a policy: what the report says of them, and when it says nothing."""

from __future__ import annotations

import pytest
from django.utils import timezone

from analytics.data import fingerprint, votes
from analytics.data.questions import measured_questions
from annotation.models import Assignment, Judgment, OrderingPolicy, Study, Task
from tests import factories
from tests.analytics.reports.reading import sections_of, text_of
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """Two tasks that want two judgments each; the first has one by each of two people, the second one."""
    study = factories.StudyFactory(overlap=2)
    one, two = (factories.rating_task(study, name) for name in ("one", "two"))
    first, second = (factories.rater(study) for _ in range(2))
    for task, rater, value in ((one, first, 2), (one, second, 4), (two, first, 3)):
        vote(task, value, rater=rater)
    return study


def warnings(study: Study, language: str = "en") -> str:
    return text_of(sections_of(study, language=language)["data"], warnings=True)


def methods(study: Study) -> str:
    return text_of(sections_of(study)["methods"])


def digest(study: Study) -> str:
    return fingerprint.data_sha256(
        study, [votes.load_votes(question) for question in measured_questions(study)]
    )


def vote_by_policy(task: Task) -> None:
    rater = factories.rater(task.study)
    assignment = Assignment.objects.create(
        task=task, rater=rater, protocol_version=task.study.protocol_version, presentation=[0],
        expires_at=timezone.now(), state=Assignment.State.SUBMITTED, inclusion_probability=0.3,
        policy=OrderingPolicy.objects.create(study=task.study, number=1, settings={}),
    )  # fmt: skip
    vote(task, 3, rater=rater, assignment=assignment)


def test_of_peoples_votes_in_plain_order_nothing_is_said(study):
    assert warnings(study) == ""
    assert "simulated" not in methods(study)
    assert "policy" not in methods(study)


def test_simulated_votes_are_told_from_peoples(study):
    two = Task.objects.get(external_id="two")
    vote(two, 5, rater=factories.rater(study), origin=Judgment.Origin.SIMULATED)
    assert "1 judgment that counts is simulated" in warnings(study)
    assert "1 of these judgments was simulated from a known truth" in methods(study)
    assert "模拟" in warnings(study, "zh-hans")


def test_tasks_that_a_policy_chose_are_warned_of_while_some_want_votes(study):
    Task.objects.filter(external_id="one").update(overlap=4)
    vote_by_policy(Task.objects.get(external_id="one"))
    assert "and 2 tasks still want votes" in warnings(study)
    assert "The task of 1 judgment was chosen by a policy" in methods(study)
    assert "lean towards the tasks that the policy prefers" in methods(study)
    before = digest(study)
    Task.objects.filter(study=study, external_id="one").update(overlap=3)
    Task.objects.filter(study=study, external_id="two").update(overlap=1)
    assert warnings(study) == ""
    assert "The task of 1 judgment was chosen by a policy" in methods(study)
    assert digest(study) != before
