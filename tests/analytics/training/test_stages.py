"""What scorers said, then what people said: real ORCA trainings with a tiny encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analytics.training import run
from analytics.training.dataset import TrainingSplit
from scoring.backbones.encoders import encoder_registry
from scoring.training.contract import RatedAnswer, TrainedModel, TrainingError
from tests.scoring.training.answers import Points, answers, options, votes

SHORT = {"steps": 4, "validate_every": 2, "patience": 9}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, settings, tmp_path):
    settings.SCORING_CHECKPOINTS = tmp_path / "checkpoints"
    monkeypatch.setitem(
        encoder_registry.BUILT_IN_ANSWER_ENCODERS, "built-in", "tests.scoring.training.answers:TinyAnswers"
    )


def trained(work: Path, first: list[RatedAnswer], observer: Points | None = None, **given) -> TrainedModel:
    parts = TrainingSplit(votes(), first, (), frozenset(), {})
    return run.train_in_stages(
        "orca", parts, options(**SHORT | given), seed=3, work=work, observer=observer or Points()
    )


def judged() -> list[RatedAnswer]:
    """By a scorer that likes what people do not, with scores between the ratings that people can give."""
    return [
        replace(answer, ratings=(1.3 if min(answer.ratings) > 3 else 4.6,))
        for answer in answers(40, seed=9, name="scored")
    ]


def test_a_judge_that_learned_from_a_scorer_first_begins_with_what_that_came_to(tmp_path):
    observer = Points()
    both = trained(tmp_path / "both", judged(), observer)
    people = trained(tmp_path / "people", [])
    assert both.record["steps"] == people.record["steps"] == 4
    assert (tmp_path / "both" / "first" / "model").is_dir()
    heads = [(one.folder / "model" / "model_minus_lm.pt").read_bytes() for one in (both, people)]
    assert heads[0] != heads[1]
    # One curve through both stages, as a model of music has it.
    assert [step for name, step, _ in observer.points if name == "dev loss"] == [2, 4, 6, 8]


def test_a_head_of_five_ratings_learns_whole_labels_and_refuses_what_lies_between(tmp_path):
    whole = [replace(answer, ratings=tuple(map(round, answer.ratings))) for answer in judged()]
    assert trained(tmp_path / "whole", whole, head="multinomial").record["steps"] == 4
    with pytest.raises(TrainingError, match="lie between two of the five"):
        trained(tmp_path / "between", judged(), head="multinomial")
