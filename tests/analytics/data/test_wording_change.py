"""A question whose wording was corrected while its study ran is one question in every figure and file."""

from __future__ import annotations

import copy

import pytest

from analytics.data.questions import measured_questions
from analytics.data.votes import load_votes
from analytics.datasets.judged_tasks import task_records
from analytics.reports.agreement import study_agreement
from annotation.models import Study
from annotation.protocols import definition_of_preset
from annotation.review.flag_queries import comparable_questions
from annotation.studies import protocols
from tests import factories
from tests.analytics.datasets.exported import exported
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db

VALUES = {"a": (1, 2, 1), "b": (4, 4, 5), "c": (3, 5, 2)}


def rated(*, reworded_after: int | None = None) -> Study:
    """A study whose three raters rate three items, the last of them by another wording."""
    study = factories.StudyFactory(overlap=9)
    tasks = {name: factories.rating_task(study, name) for name in VALUES}
    for number in range(3):
        if number == reworded_after:
            definition = copy.deepcopy(definition_of_preset("orca"))
            definition["questions"][0]["title"] = {"en": "Is the answer right?", "zh": "回答正确吗？"}
            definition["questions"][0]["points"][0]["label"] = "Wrong"
            definition["guidelines"] = "Read twice."
            protocols.publish_protocol(study, definition, actor=None)
        rater = factories.rater(study)
        for name, task in tasks.items():
            task.study.refresh_from_db()
            vote(task, VALUES[name][number], rater=rater, version=study.protocol_versions.latest("number"))
    study.refresh_from_db()
    return study


def alpha(study: Study) -> tuple[object, ...]:
    (result,) = [row.as_json() for row in study_agreement(study)]
    return result["alpha"], result["ci95"], result["units"], result["ratings"]


def test_alpha_is_that_of_a_study_without_the_change():
    assert alpha(rated(reworded_after=2)) == alpha(rated())


def test_every_door_to_the_answers_pools_the_versions_and_files_name_the_version_of_each_judgment():
    study = rated(reworded_after=1)
    question = measured_questions(study)[0]
    assert (question.title, question.versions, question.other_versions) == (
        "Is the answer right?",
        (1, 2),
        (),
    )
    assert len(load_votes(question).counted().value) == 9
    assert len(comparable_questions(study, lambda _, spec: bool(spec.level))) == 2
    assert sum(len(task["judgments"]) for task in task_records(study)) == 9
    rows = list(exported(study, "judgments"))
    assert sorted({(row["protocol_version"]) for row in rows}) == [1, 2]


def test_who_was_not_offered_an_option_has_not_left_it_out():
    definition = copy.deepcopy(definition_of_preset("orca"))
    flaws = {"key": "flaws", "kind": "choices", "title": "Flaws", "required": False, "min_choices": 0}
    options = [{"key": key, "title": key} for key in ("noise", "hum")]
    definition["questions"].append({**flaws, "options": options})
    study = factories.StudyFactory(overlap=9)
    protocols.publish_protocol(study, definition, actor=None)
    more = copy.deepcopy(definition)
    more["questions"][-1]["options"].append({"key": "hiss", "title": "hiss"})
    protocols.publish_protocol(study, more, actor=None)
    asked = {one.key: one for one in measured_questions(study)}
    assert (asked["flaws:noise"].versions, asked["flaws:noise"].other_versions) == ((2, 3), ())
    assert (asked["flaws:hiss"].versions, asked["flaws:hiss"].other_versions) == ((3,), (2,))
    assert len(asked["flaws:hiss"].ids) == 1


def test_a_question_that_was_taken_out_unanswered_leaves_no_trace():
    study = rated()
    definition = copy.deepcopy(definition_of_preset("orca"))
    spare = {**definition["questions"][0], "key": "spare", "required": False}
    for questions in ([*definition["questions"], spare], definition["questions"]):
        protocols.publish_protocol(study, {**definition, "questions": questions}, actor=None)
    assert [question.key for question in measured_questions(study)] == ["correctness"]
