"""Judges' labels in a training: which ratings each use learns from, their share, and that they are nobody's votes."""

from __future__ import annotations

import pytest
from django.core.management import CommandError

from analytics.training import jobs, labels
from analytics.training.dataset import split_examples, training_data
from analytics.training.examples import TrainingExample
from annotation.errors import InvalidInput
from annotation.models import Answer, Judgment, Study
from scoring.backbones.encoders import encoder_registry
from scoring.models import LearnedModel, ScoringRun
from scoring.training.contract import RatedAnswer
from tests.analytics.reports.reading import typed
from tests.analytics.votes import votes
from tests.factories import StudyFactory, rating_task
from tests.scoring.studies import run_over, worked

WORDS = ("a bell", "a bell.", "a big bell", "rain")
PLAN = {"repeats": 1, "holdout_raters": 0, "split": "groups"}


def example(candidate: int, *ratings: float, key: str = "") -> TrainingExample:
    answer = RatedAnswer(key or f"answer {candidate}", f"group {candidate}", "m", "a bell", ratings=ratings)
    return TrainingExample(answer, candidate, (candidate,), {"": ("R",) * len(ratings)}, ())


PEOPLE = [example(1, 5.0, 4.0), example(2, 1.0), example(3, 2.0)]
# Two judges of answer 1, one of 2 and of 4, which nobody has rated; none of 3.
JUDGES = [example(1, 3.0, key="1 a"), example(1, 3.5, key="1 b"), example(2, 2.0), example(4, 4.5)]


@pytest.mark.parametrize(
    ("use", "ratings", "n_labels", "n_labelled"),
    [
        (labels.INSTEAD, {1: (3.0, 3.5), 2: (2.0,)}, 3, 2),
        (labels.ALONE, {1: (3.0, 3.5), 2: (2.0,), 4: (4.5,)}, 4, 3),
        (labels.ADDED, {1: (5.0, 4.0, 3.0, 3.5), 2: (1.0, 2.0), 3: (2.0,)}, 3, 2),
    ],
)
def test_each_use_learns_from_its_ratings(use, ratings, n_labels, n_labelled):
    learned = labels.with_labels(PEOPLE, JUDGES, use=use)
    assert {int(one.group.split()[1]): one.ratings for one in learned.answers} == ratings
    assert (learned.n_labels, learned.n_labelled) == (n_labels, n_labelled)
    assert learned.n_votes == (4 if use == labels.ADDED else 0)


def test_the_share_is_that_of_the_ratings_that_were_maximised_over():
    assert labels.share_of_terms(3, 9) == 0.25
    assert labels.share_of_terms(0, 0) is None
    record = {
        "answers": {"train": 20},
        "ratings": {"train": 60},
        "settings": {"batch": 8},
        "dev": {"step": 9},
    }
    # Three steps an epoch, so that nine are three epochs of 60 ratings.
    assert labels.terms_of_stage(record) == 180


@pytest.fixture
def study(db) -> Study:
    """Forty answers that two people have rated, eight that nobody has; ROUGE-L has scored all."""
    study = StudyFactory(overlap=9)
    for number in range(48):
        reference = f"{WORDS[number % 4]} {number}"
        task = rating_task(
            study, f"item-{number:02}", question=f"What is heard in {number}?", reference=reference
        )
        if number < 40:
            votes(task, [5 - number % 4, 4 - number % 4])
    assert worked(run_over(study, "rouge-l")).state == "done"
    return study


def split(study: Study, use: str, *, whole: bool = False):
    digests = [ScoringRun.objects.get().scorer.digest]
    data = training_data(study, "orca", pseudo=digests, whole_labels=whole)
    return split_examples(data, {**PLAN, "pseudo": digests, "labels": use}, seed=0)


def test_what_is_held_out_and_what_is_chosen_by_is_peoples_with_every_use_and_never_labelled(study):
    people = split_examples(training_data(study, "orca"), PLAN, seed=0)
    for use in labels.USES:
        parts = split(study, use)
        assert parts.training.dev == people.training.dev
        assert parts.training.test == people.training.test
        held = {answer.group for part in (people.training.dev, people.training.test) for answer in part}
        learned = [*parts.training.train, *parts.pseudo]
        assert not held & {answer.group for answer in learned}, use
        assert parts.counts["labels"] == (32 if use in (labels.ALONE, labels.FIRST) else 24), use
        assert parts.counts["train_votes"] == (48 if use in (labels.ADDED, labels.FIRST) else 0), use


def test_labels_lie_between_what_people_answer_or_are_the_nearest_of_it(study):
    found = {rating for answer in split(study, labels.ALONE).training.train for rating in answer.ratings}
    assert any(rating != round(rating) for rating in found)
    whole = {
        rating
        for answer in split(study, labels.ALONE, whole=True).training.train
        for rating in answer.ratings
    }
    assert whole == {float(round(rating)) for rating in found}


@pytest.fixture
def _tiny(monkeypatch, settings, tmp_path):
    settings.SCORING_CHECKPOINTS = tmp_path / "checkpoints"
    monkeypatch.setitem(
        encoder_registry.BUILT_IN_ANSWER_ENCODERS, "built-in", "tests.scoring.training.answers:TinyAnswers"
    )


@pytest.mark.usefixtures("_tiny")
@pytest.mark.parametrize("use", [labels.ADDED, labels.FIRST])
def test_the_record_names_the_labels_their_run_and_their_share_and_no_vote_is_added(study, use):
    before = Judgment.objects.count(), Answer.objects.count()
    short = ("--set", "steps=4", "--set", "validate_every=2", "--hold-out-raters", "0")
    said = typed("train", study.slug, "--model", "orca", "--pseudo", "rouge-l", "--labels", use, *short)
    assert (Judgment.objects.count(), Answer.objects.count()) == before
    (model,) = LearnedModel.objects.all()
    run = ScoringRun.objects.get()
    assert run.scorer is not None
    record = model.record["labels"]
    share = record.pop("share")
    assert record == {
        "use": use,
        "scenario": 4 if use == labels.ADDED else 5,
        "scorers": [f"rouge-l@{run.scorer.digest}"],
        "runs": [run.pk],
        "labels": 24 if use == labels.ADDED else 32,
        "answers": 24 if use == labels.ADDED else 32,
        "votes": 48,
    }
    if use == labels.ADDED:
        assert share == [pytest.approx(24 / 72)]
    else:
        stages = [
            labels.terms_of_stage(one) for one in (model.record["trained"]["first"], model.record["trained"])
        ]
        assert share == [pytest.approx(stages[0] / sum(stages))]
    assert f"({use}): {record['labels']} on {record['answers']} answers, {share[0]:.1%}" in said


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("orca", {"labels": "alone"}, "No scorer is named whose scores are the labels"),
        ("orca", {"labels": "twice", "pseudo": ["rouge-l"]}, "There is no use of labels 'twice'"),
        ("cmi-rm", {"labels": "added", "pseudo": ["rouge-l"]}, "before people's votes, and in no other way"),
    ],
)
def test_uses_that_there_are_not_are_refused_and_nothing_begins(study, kind, given, message):
    with pytest.raises(InvalidInput, match=message):
        jobs.start_training(study, kind, {}, actor=None, **given)
    assert not LearnedModel.objects.exists()


def test_without_labels_for_what_is_learned_the_training_says_how_many_there_are(study):
    worked(run_over(study, "exact-match", filter={"items": ["item-47"]}))
    with pytest.raises(CommandError, match="There are 0 rated answers in train"):
        typed("train", study.slug, "--model", "orca", "--pseudo", "exact-match", "--labels", "instead")


def test_a_training_is_taken_up_only_where_its_labels_are_the_same(study):
    assert split(study, labels.ALONE).sha256() != split(study, labels.INSTEAD).sha256()
