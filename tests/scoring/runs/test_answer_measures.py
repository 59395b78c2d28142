"""A study's answers scored against their references: from the command line, and resumed."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Study
from scoring.models import Score, Scorer, ScoringRun
from scoring.runs import loaded_metric
from tests.factories import StudyFactory, rating_task
from tests.scoring.studies import check_books, run_over, worked

pytestmark = pytest.mark.django_db


def score(*arguments: str) -> str:
    written = io.StringIO()
    call_command("score", *arguments, stdout=written, stderr=io.StringIO())
    return written.getvalue()


@pytest.fixture
def study() -> Study:
    return StudyFactory()


@pytest.fixture
def answers(study: Study) -> Study:
    for name, reference in (("one", "A bell."), ("two", "A dog barks"), ("three", "Rain"), ("four", "")):
        rating_task(study, name, reference=reference)
    return study


def test_a_study_is_scored_by_every_measure_from_the_command_line(answers: Study) -> None:
    for name in ("bleu", "rouge-l", "cider", "exact-match"):
        assert "4 of 4" in score(answers.slug, "--scorer", name), name
        run = ScoringRun.objects.get(metric=name)
        check_books(run)
        assert run.rows.get(fault="no_reference")
    assert set(Score.objects.values_list("output", flat=True)) == {"score"}


def test_cider_is_over_the_references_of_the_runs_items_whichever_systems_it_scores(answers: Study) -> None:
    score(answers.slug, "--scorer", "cider")
    (whole,) = Scorer.objects.all()
    assert whole.config["corpus"]["references"] == 3
    system = Score.objects.values_list("candidate__system__name", flat=True).first()
    assert system is not None
    score(answers.slug, "--scorer", "cider", "--system", system, "--again")
    assert Scorer.objects.count() == 1
    part = worked(run_over(answers, "cider", filter={"items": ["one", "two"]}))
    assert part.scorer is not None
    assert part.scorer.config["corpus"]["references"] == 2


def test_a_run_whose_references_changed_before_it_is_resumed_ends_with_a_sentence(answers: Study) -> None:
    run = worked(run_over(answers, "cider"))
    rating_task(answers, "five", reference="A gong.")
    ScoringRun.objects.filter(pk=run.pk).update(state=ScoringRun.State.RUNNING, finished_at=None)
    run = worked(run)
    assert run.state == "failed"
    assert "corpus changed since" in run.message
    assert worked(run_over(answers, "cider")).state == "done"
    assert Scorer.objects.count() == 2


def test_cider_of_one_reference_says_what_it_needs(study: Study) -> None:
    loaded_metric.unload()
    rating_task(study, "one")
    with pytest.raises(CommandError, match="Score at least 2 items with a reference answer"):
        score(study.slug, "--scorer", "cider")
