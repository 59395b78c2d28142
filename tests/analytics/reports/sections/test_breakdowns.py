"""How a question's votes are cut: every vote is where it belongs, and no cut is made that tells nothing."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.data.votes import COUNTED, EXCLUDED, EXCLUDED_BY_REVIEW, NOBODY, Votes
from analytics.reports.sections.agreement import vote_parts
from tests.analytics.vote_columns import made_votes, preference_question, rating_question

DAY = 86_400
MODALITIES = ("music", "speech")


def cut(votes: Votes) -> dict[tuple[str, str], list[float]]:
    return {(part.by, part.name): part.votes.value.tolist() for part in vote_parts(votes)}


RATED = {
    "votes go with the stratum of their unit": (
        {},
        ([0, 1, 2, 0], [1, 2, 3, 4], {"strata": {"modality": (MODALITIES, (0, 1, NOBODY))}}),
        {("modality", "music"): [1, 4], ("modality", "speech"): [2]},
    ),
    "one system or one stratum value is no cut": (
        {},
        ([0, 1], [1, 2], {"strata": {"split": (("test",), (0, 0))}}),
        {},
    ),
    "votes of one day are not cut by time": ({}, ([0, 0], [1, 2], {"at": [10.0, 20.0]}), {}),
    "the review is told by its parts": (
        {},
        (
            [0, 0, 1, 2],
            [1, 2, 3, 4],
            {
                "corrected": [False, False, True],
                "status": [COUNTED, EXCLUDED_BY_REVIEW, COUNTED, COUNTED],
            },
        ),
        {
            ("review", "before"): [1, 2, 3],
            ("review", "set aside by it"): [2],
            ("review", "kept"): [1, 3],
            ("review", "of corrected texts"): [4],
            ("review", "after"): [1, 3, 4],
        },
    ),
    "excluded votes can be put back and repeats cannot": (
        {},
        ([0, 0, 0], [1, 2, 3], {"status": [COUNTED, EXCLUDED, COUNTED], "again": [False, False, True]}),
        {
            ("exclusions", "without excluded votes"): [1],
            ("exclusions", "with excluded votes put back"): [1, 2],
        },
    ),
    "where votes stop early every part has the first votes of its units": (
        {"first_votes": 2},
        ([0, 1, 0, 0, 1], [1, 2, 3, 4, 5], {"strata": {"modality": (MODALITIES, (0, 1))}}),
        {
            ("modality", "music"): [1, 3],
            ("modality", "speech"): [2, 5],
            ("overlap", "the first 2 of each unit"): [1, 2, 3, 5],
            ("overlap", "all votes"): [1, 2, 3, 4, 5],
        },
    ),
}


@pytest.mark.parametrize(("question", "votes", "parts"), RATED.values(), ids=list(RATED))
def test_votes_are_cut(question, votes, parts):
    unit, value, columns = votes
    assert cut(made_votes(rating_question(**question), unit, value, **columns)) == parts


def test_a_comparison_counts_for_both_systems():
    votes = made_votes(preference_question(), [0, 1], [1, 2], first=[0, 1], second=[1, 2])
    parts = {"alto": [1.0], "bass": [1.0, 2.0], "cello": [2.0]}
    assert cut(votes) == {("system", name): values for name, values in parts.items()}


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
    votes = made_votes(rating_question(), [0, 0, 0], [1, 2, 3], at=np.array(days) * DAY + 5.0)
    assert [name for by, name in cut(votes) if by == "time"] == names
