"""From a study's votes to what models learn from: the same as what their scorers read afterwards."""

from __future__ import annotations

import pytest

from analytics.questions import measured_questions
from analytics.training_frames import rated_answers
from analytics.vote_frames import votes as read
from annotation.models import Candidate, Study, System, TaskCandidate
from scoring.metrics.orca import answer_read
from scoring.metrics.registry import validated
from scoring.models import ScoringRun
from scoring.services import examples
from scoring.services.opened import scorer_of
from scoring.services.rows import prepare
from scoring.training.contract import RatedAnswer
from tests import factories
from tests.analytics.votes import votes

pytestmark = pytest.mark.django_db


def learned_from(study: Study) -> dict[int, RatedAnswer]:
    (question,) = measured_questions(study)
    return {one.candidates[0]: one.thing for one in rated_answers(study, read(question))}


def scored(study: Study) -> dict[int, RatedAnswer | None]:
    """What a run of ORCA reads of each candidate; None where there is no answer."""
    run = ScoringRun.objects.create(
        study=study, metric="orca", options=validated("orca", {"checkpoint": "one"})
    )
    prepare(run, scorer_of("orca", {"code": "orca/test"}))
    rows = dict(run.rows.values_list("pk", "candidate"))
    loaded = examples.load(run, list(rows))
    assert not loaded.faults
    return {rows[one.key]: answer_read(one) if one.texts else None for one in loaded.examples}


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
