"""How a question's votes are cut: every vote is where it belongs, and no cut is made that tells nothing."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.data.votes import COUNTED, EXCLUDED, EXCLUDED_BY_REVIEW, NOBODY, Votes
from analytics.reports.sections.agreement import vote_parts
from tests.analytics.vote_columns import made_votes, preference_question, rating_question

DAY = 86_400


def cut(votes: Votes) -> dict[tuple[str, str], list[float]]:
    return {(part.by, part.name): part.votes.value.tolist() for part in vote_parts(votes)}


def test_votes_go_with_the_stratum_of_their_unit():
    votes = made_votes(
        rating_question(),
        [0, 1, 2, 0],
        [1, 2, 3, 4],
        strata={"modality": (("music", "speech"), (0, 1, NOBODY))},
    )
    assert cut(votes) == {("modality", "music"): [1.0, 4.0], ("modality", "speech"): [2.0]}


def test_a_comparison_counts_for_both_systems():
    votes = made_votes(preference_question(), [0, 1], [1, 2], first=[0, 1], second=[1, 2])
    assert cut(votes) == {
        ("system", "alto"): [1.0],
        ("system", "bass"): [1.0, 2.0],
        ("system", "cello"): [2.0],
    }


def test_one_system_or_one_stratum_value_is_no_cut():
    votes = made_votes(rating_question(), [0, 1], [1, 2], strata={"split": (("test",), (0, 0))})
    assert cut(votes) == {}


@pytest.mark.parametrize(
    ("days", "names"),
    [
        ([0, 0, 3], ["1970-01-01", "1970-01-04"]),
        ([0, 4, 20], ["1970-W01", "1970-W02", "1970-W04"]),
        ([0, 31, 300], ["1970-01", "1970-02", "1970-10"]),
    ],
    ids=["days", "weeks", "months"],
)
def test_time_is_cut_as_finely_as_can_be_read(days, names):
    at = np.array(days) * DAY + 5.0
    votes = made_votes(rating_question(), [0, 0, 0], [1, 2, 3], at=at)
    assert [name for by, name in cut(votes) if by == "time"] == names


def test_votes_of_one_day_are_not_cut_by_time():
    votes = made_votes(rating_question(), [0, 0], [1, 2], at=np.array([10.0, 20.0]))
    assert cut(votes) == {}


def test_the_review_is_told_by_its_parts():
    votes = made_votes(
        rating_question(),
        [0, 0, 1, 2],
        [1, 2, 3, 4],
        corrected=[False, False, True],
        status=np.array([COUNTED, EXCLUDED_BY_REVIEW, COUNTED, COUNTED]),
    )
    assert {name: values for (by, name), values in cut(votes).items() if by == "review"} == {
        "before": [1.0, 2.0, 3.0],
        "set aside by it": [2.0],
        "kept": [1.0, 3.0],
        "of corrected texts": [4.0],
        "after": [1.0, 3.0, 4.0],
    }


def test_excluded_votes_can_be_put_back_and_repeats_cannot():
    votes = made_votes(
        rating_question(),
        [0, 0, 0],
        [1, 2, 3],
        status=np.array([COUNTED, EXCLUDED, COUNTED]),
        again=np.array([False, False, True]),
    )
    assert cut(votes) == {
        ("exclusions", "without excluded votes"): [1.0],
        ("exclusions", "with excluded votes put back"): [1.0, 2.0],
    }


def test_where_votes_stop_early_every_part_has_the_first_votes_of_its_units():
    votes = made_votes(
        rating_question(first_votes=2),
        [0, 1, 0, 0, 1],
        [1, 2, 3, 4, 5],
        strata={"modality": (("music", "speech"), (0, 1))},
    )
    assert cut(votes) == {
        ("modality", "music"): [1.0, 3.0],
        ("modality", "speech"): [2.0, 5.0],
        ("overlap", "the first 2 of each unit"): [1.0, 2.0, 3.0, 5.0],
        ("overlap", "all votes"): [1.0, 2.0, 3.0, 4.0, 5.0],
    }
