"""Simulated votes, and tasks chosen by a policy: what the report says of them, and when it says nothing."""

from __future__ import annotations

import pytest
from django.utils import timezone

from analytics.data import fingerprint, votes
from analytics.data.questions import measured_questions
from analytics.reports.document import Paragraph
from analytics.reports.sections.material import ReportSettings
from analytics.reports.study_report import study_report
from analytics.statistics.bootstrap import Resampling
from annotation.models import Assignment, Judgment, OrderingPolicy, Rater, Study, Task
from tests import factories
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """Two tasks that want two judgments each; the first has one by each of two people, the second one."""
    study = factories.StudyFactory(overlap=2)
    one, two = (factories.rating_task(study, name) for name in ("one", "two"))
    for task, rater, value in (
        (one, factories.rater(study), 2),
        (one, factories.rater(study), 4),
        (two, None, 3),
    ):
        vote(task, value, rater=rater or Rater.objects.filter(study=study).first())
    return study


def blocks(study: Study, language: str = "en") -> dict[str, list[Paragraph]]:
    settings = ReportSettings(resampling=Resampling(replicates=20))
    made = study_report(
        Study.objects.get(pk=study.pk), settings, language=language, progress=lambda done: None
    )
    return {
        section.key: [block for block in section.blocks if isinstance(block, Paragraph)]
        for section in made.sections
    }


def warnings(study: Study, language: str = "en") -> str:
    return " ".join(block.text for block in blocks(study, language)["data"] if block.warning)


def methods(study: Study) -> str:
    return " ".join(block.text for block in blocks(study)["methods"])


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
    vote(
        Task.objects.get(external_id="two"), 5, rater=factories.rater(study), origin=Judgment.Origin.SIMULATED
    )
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
