"""Votes of correct or incorrect, aggregated into 1, 0.5 and 0 as AQEval has its final annotation (AURA Score, section 2
and figure 4): of five votes 4 or 5 "correct" make 1, 2 or 3 make 0.5, fewer make 0. Of another number of votes the same
shares decide: four fifths and more, two fifths and more.
"""

from __future__ import annotations

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray


def aggregated_correctness(n_correct: IntArray, n_votes: IntArray) -> FloatArray:
    """Of one shape, and the result of the same. In whole numbers: 3 of 5 and 6 of 10 are the same share on every
    machine."""
    return np.select([5 * n_correct >= 4 * n_votes, 5 * n_correct >= 2 * n_votes], [1.0, 0.5], 0.0)
