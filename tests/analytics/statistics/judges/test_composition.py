"""Text, audio and group score: strict, by item, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.accuracy import composition_scores

BOTH = [[0.9, 0.1], [0.2, 0.8]]
TEXT_ONLY = [
    [0.4, 0.3],
    [0.6, 0.7],
]  # each sound its own text; the first text scores higher with the second sound
AUDIO_ONLY = [[0.4, 0.6], [0.3, 0.7]]
NEITHER = [[0.1, 0.9], [0.8, 0.2]]


def values(*items):
    found = composition_scores(np.array(items, dtype=float))
    return found.text.value, found.audio.value, found.group.value


def test_each_score_by_hand():
    assert values(BOTH, TEXT_ONLY, AUDIO_ONLY, NEITHER) == (0.5, 0.5, 0.25)


def test_who_cannot_tell_two_apart_has_not_passed():
    assert values([[0.5, 0.5], [0.5, 0.5]]) == (0.0, 0.0, 0.0)
    assert values([[0.5, 0.5], [0.1, 0.6]]) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(("k", "chance"), [(2, (1 / 4, 1 / 4, 1 / 6)), (3, (1 / 27, 1 / 27, None))])
def test_guessing_passes_as_often_as_theory_says(k, chance):
    if k == 2:
        orders = np.array(list(itertools.permutations(range(4))), dtype=float).reshape(-1, 2, 2)
    else:
        orders = np.random.default_rng(0).random((40_000, 3, 3))
    found = composition_scores(orders, resampling=Resampling(replicates=1))
    tolerance = 1e-12 if k == 2 else 0.003
    assert found.text.value == pytest.approx(chance[0], abs=tolerance)
    assert found.audio.value == pytest.approx(chance[1], abs=tolerance)
    if chance[2] is not None:
        assert found.group.value == pytest.approx(chance[2])


def test_an_item_with_a_score_missing_is_left_out():
    found = composition_scores(np.array([BOTH, [[np.nan, 0.1], [0.2, 0.8]]]))
    assert (found.text.value, found.text.n) == (1.0, 1)
    none = composition_scores(np.full((1, 2, 2), np.nan))
    assert (none.group.value, none.group.reason) == (None, "no_items")
