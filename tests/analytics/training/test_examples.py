"""From a study's votes to what models learn from: the same as what their scorers read afterwards."""

from __future__ import annotations

import pytest

from analytics.data.questions import measured_questions
from analytics.data.votes import load_votes as read
from analytics.training.examples import rated_answer_examples
from annotation.models import Candidate, Study, System, TaskCandidate
from scoring.metrics.orca.scorer import rated_answer_of
from scoring.metrics.registry import validate_options
from scoring.models import ScoringRun
from scoring.runs import rows as runs_rows
from scoring.runs.loaded_metric import scorer_version
from scoring.runs.rows import create_rows
from scoring.training.contract import RatedAnswer
from tests import factories
from tests.analytics.votes import votes

pytestmark = pytest.mark.django_db


def learned_from(study: Study) -> dict[int, RatedAnswer]:
    (question,) = measured_questions(study)
    return {one.candidates[0]: one.example for one in rated_answer_examples(study, read(question))}


def scored(study: Study) -> dict[int, RatedAnswer | None]:
    """What a run of ORCA reads of each candidate; None where there is no answer."""
    run = ScoringRun.objects.create(
        study=study, metric="orca", options=validate_options("orca", {"checkpoint": "one"})
    )
    create_rows(run, scorer_version("orca", {"code": "orca/test"}))
    rows = dict(run.rows.values_list("pk", "candidate"))
    loaded = runs_rows.load_examples(run, list(rows))
    assert not loaded.faults
    return {rows[one.key]: rated_answer_of(one) if one.texts else None for one in loaded.examples}


def read_of(answer: RatedAnswer) -> tuple[str, ...]:
    return answer.question, answer.candidate, answer.reference, answer.rationale, answer.transcript


def test_orca_scores_what_it_learned_from_where_items_have_a_prompt_and_no_question():
    study = factories.StudyFactory(overlap=9)
    votes(factories.rating_task(study, "asked", prompt="Answer briefly."), [1, 2])
    votes(
        factories.rating_task(study, "told", prompt="Describe it.", question="", rationale="It rings."), [3]
    )
    learned, found = learned_from(study), scored(study)
    assert {one.question for one in learned.values()} == {"What is heard in asked?", "Describe it."}
    assert {key: read_of(one) for key, one in found.items() if one} == {
        key: read_of(one) for key, one in learned.items()
    }


def test_an_empty_answer_is_learned_from_and_scored_and_a_clip_is_not():
    study = factories.StudyFactory(overlap=9)
    for name, said in (
        ("empty", {"text": ""}),
        ("blank", {"text": " "}),
        ("heard", {"clip": factories.clip("c")}),
    ):
        task = factories.panel_task(study, name, [])
        candidate = Candidate.objects.create(
            item_version=task.item_version,
            system=System.objects.get_or_create(study=study, name=name)[0],
            **said,
        )
        TaskCandidate.objects.create(task=task, slot=0, candidate=candidate)
        votes(task, [1, 2])
    learned, found = learned_from(study), scored(study)
    assert sorted(one.candidate for one in learned.values()) == ["", " "]
    assert {key for key, one in found.items() if one} == learned.keys()
    assert len(found) == 3
