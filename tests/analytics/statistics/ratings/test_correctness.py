"""Votes of correct or incorrect as AQEval aggregates them."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.ratings.correctness import aggregated_correctness


def test_five_votes_are_aggregated_as_published():
    """AURA Score, section 2: 1 of four or five, 0.5 of two or three, else 0."""
    values = aggregated_correctness(np.arange(6), np.full(6, 5))
    assert values.tolist() == [0, 0, 0.5, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("correct", "votes", "value"), [(1, 1, 1), (1, 2, 0.5), (2, 3, 0.5), (6, 10, 0.5), (8, 10, 1)]
)
def test_of_other_numbers_the_same_shares_decide(correct, votes, value):
    assert aggregated_correctness(np.array([correct]), np.array([votes])).tolist() == [value]
