"""Votes by what scorers score: candidates and pairs, and the outputs that are held against them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analytics.data.votes import Votes
from analytics.reports.sections.model_data import (
    ScoredBy,
    ScorerOutput,
    by_strata,
    compared_pairs,
    from_0_to_1,
    rated_candidates,
)
from annotation.models import Answer
from scoring.models import Scorer
from tests.analytics.vote_columns import made_votes, preference_question, rating_question

FIRST, SECOND, TIE, BAD = (float(choice) for choice in Answer.Choice)


def about(votes: Votes, candidate: list[int], other: list[int] | None = None) -> Votes:
    units = replace(votes.units, candidate=np.array(candidate))
    return replace(votes, units=units if other is None else replace(units, other=np.array(other)))


def contender(scores: dict, *, output: str = "value", even: float | None = None) -> ScorerOutput:
    return ScorerOutput("one", Scorer(key="one", digest="d" * 64), output, even, scores)


def test_ratings_of_one_candidate_belong_together_whatever_the_task():
    votes = made_votes(rating_question(), [0, 1, 0, 2, 2], [1, 2, 3, np.inf, 5], first=[0, 0, 1])
    found = rated_candidates(about(votes, [7, 7, 9]))
    assert (found.candidate.tolist(), found.mean.tolist(), found.n.tolist()) == ([7, 9], [2, 5], [3, 1])
    assert (found.system.tolist(), found.row.tolist()) == ([0, 1], [0, 0, 0, 1])


def test_one_answer_about_several_candidates_is_about_none_of_them():
    assert len(rated_candidates(about(made_votes(rating_question(), [0], [3]), [0]))) == 0


def test_a_pair_is_one_pair_whichever_way_round_it_was_shown():
    votes = made_votes(
        preference_question(),
        [0, 0, 1, 1, 1],
        [FIRST, TIE, SECOND, FIRST, BAD],
        confidence=[2, np.nan, 5, 2, np.nan],
    )
    found = compared_pairs(about(votes, [3, 8], [8, 3]))
    # The second task has the pair the other way round: its SECOND is the one that was there first.
    assert (found.first.tolist(), found.second.tolist()) == ([3], [8])
    assert found.votes.tolist() == [[2, 1, 2]]
    assert (found.lead.tolist(), found.confidence.tolist()) == ([1], [3])


def test_a_rater_who_meets_a_clip_or_a_pair_in_two_tasks_is_one_person():
    twice = {"unit": [0, 1, 0, 1, 1], "rater": [0, 0, 1, -1, -1]}
    ratings = rated_candidates(about(made_votes(rating_question(), value=[1, 5, 2, 3, 3], **twice), [7, 7]))
    assert (ratings.value.tolist(), ratings.n.tolist()) == ([1, 2, 3, 3], [4])
    votes = made_votes(preference_question(), value=[FIRST, FIRST, TIE, FIRST, SECOND], **twice)
    assert compared_pairs(about(votes, [3, 8], [8, 3])).votes.tolist() == [[2, 1, 1]]


def test_parts_are_the_strata_that_have_several_values():
    strata = {"kind": (("a", "b"), [0, 1, -1]), "only": (("x",), [0, 0, 0])}
    votes = about(made_votes(rating_question(), [0, 1, 2], [1, 2, 3], strata=strata), [1, 2, 3])
    found = rated_candidates(votes)
    assert [(g.by, g.name, g.rows.tolist()) for g in by_strata(votes, found.unit)] == [
        ("kind", "a", [True, False, False]), ("kind", "b", [False, True, False]),
    ]  # fmt: skip


def test_a_lead_is_a_difference_or_what_a_scorer_of_pairs_says_beyond_even():
    first, second = np.array([1, 1]), np.array([2, 3])
    single = contender({(1, 0): 0.75, (2, 0): 0.5})
    assert single.leads(first, second).tolist() == [0.25, pytest.approx(np.nan, nan_ok=True)]
    pairs = contender({(1, 2): 0.25}, even=0.5)
    assert pairs.leads(first, second)[0] == -0.25
    assert np.isnan(pairs.of(first)).all()


def test_a_scorer_of_pairs_that_says_a_probability_is_taken_at_its_word():
    pairs = contender({}, even=0.5)
    assert pairs.logits(np.array([0.25, -0.25, 0, np.nan]))[:3] == pytest.approx([np.log(3), -np.log(3), 0])
    assert np.isfinite(pairs.logits(np.array([0.5, -0.5]))).all()
    # A lead beyond one half is no probability less one half.
    assert pairs.logits(np.array([0.25, 2.0])).tolist() == [0.25, 2.0]
    assert contender({}, even=0.0).logits(np.array([0.25])).tolist() == [0.25]


@pytest.mark.parametrize(
    ("outputs", "key", "expected"),
    [
        (["heard", "default", "mean", "spread"], "quality", ["default"]),
        (["heard", "mean", "spread"], "quality", ["mean"]),
        (["entailment", "judge", "score", "similarity"], "quality", ["score"]),
        (["zebra", "apple", "spread", "variance"], "quality", ["apple"]),
        (["alignment", "musicality"], "quality", ["musicality", "alignment"]),
        (["alignment", "musicality"], "alignment", ["alignment"]),
        (["spread"], "quality", []),
    ],
)
def test_of_several_outputs_a_question_meets_the_one_that_answers_it(outputs, key, expected):
    scored = ScoredBy(Scorer(key="one"), tuple(contender({}, output=name) for name in outputs))
    assert [one.output for one in scored.for_question(rating_question(key=key))] == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.0, 0.5, np.nan, 1.0], [0.0, 0.5, np.nan, 1.0]),
        ([1.0, 3.0, 5.0], [0.0, 0.5, 1.0]),
        ([-0.5, 0.5], None),
        ([0.0, 5.5], None),
        ([np.nan], None),
    ],
)
def test_scores_come_to_one_scale_where_that_can_be_told(scores, expected):
    found = from_0_to_1(np.array(scores), (1.0, 5.0))
    assert found is None if expected is None else np.array_equal(found, expected, equal_nan=True)
