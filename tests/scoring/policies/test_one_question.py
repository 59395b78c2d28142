"""A judge of answers that learned one of several ratings speaks of that one."""

from __future__ import annotations

import pytest

from annotation.models import CaseReason, Job
from annotation.rating import task_selection
from annotation.review import flagging, settings
from annotation.studies.protocols import add_protocol_version
from scoring.models import LearnedModel, Score, Scorer, ScoringRun
from scoring.policies import hints, priorities
from tests import factories
from tests.analytics.votes import vote
from tests.annotation.rating.rules import protocols

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """The judge learned `fluent` and finds the answers "a" and "b" as fluent as raters find "a"."""
    study = factories.StudyFactory(overlap=9)
    both = [protocols.question(key="correct"), protocols.question(key="fluent")]
    study.protocol_version = add_protocol_version(
        study, definition=protocols.definition(*both, candidate="text"), actor=None
    )
    scorer = Scorer.objects.create(key="orca", digest="o", config={"weights": "w"})
    job = Job.objects.create(study=study, kind="train")
    LearnedModel.objects.create(
        study=study, kind="orca", number=1, job=job, scorer=scorer, plan={"question": "fluent"}
    )
    ScoringRun.objects.create(study=study, scorer=scorer, metric="orca", state="done")
    for name, correct, fluent in (("a", 1, 5), ("b", 5, 1)):
        task = factories.rating_task(study, name)
        Score.objects.create(scorer=scorer, candidate=task.slots.get().candidate, value=1.0)
        for _ in range(2):
            vote(task, correct, question="correct")
            vote(task, fluent, question="fluent")
    return study


def test_raters_are_told_of_that_question(study):
    hints.set_rule(study, actor=None, scorer="orca", withheld=0.5)
    hints.sweep()
    assert [task.hint["answers"] for task in study.tasks.all()] == [{"fluent": 5.0}] * 2


def test_tasks_are_ordered_by_that_question(study):
    weights = {"uncertainty": 0.0, "disagreement": 1.0, "coverage": 0.0}
    priorities.refresh(task_selection.set_ordering(study, actor=None, scorer="orca", **weights))
    assert dict(study.tasks.values_list("external_id", "priority")) == {"a": 0.0, "b": 1.0}


@pytest.mark.parametrize(("named", "found"), [("", ["b"]), ("correct", ["a"])])
def test_cases_are_by_that_question_unless_the_rule_names_another(study, named, found):
    rules = {key: {"on": False} for key in ("codes", "disagreement", "low_confidence", "failed_gold")}
    rules["model_conflict"] = {"on": True, "scorer": "orca", "question": named}
    flagging.apply_rules(settings.change_review_settings(study, actor=None, flags=rules), actor=None)
    assert [one.case.item.external_id for one in CaseReason.objects.all()] == found
