"""The stand-in for a scorer, against scipy's minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from analytics.statistics.planning.ordering_simulation import (
    PAIR_SD,
    WEIGHT_SD,
    fitted_weights,
    posterior_margins,
    share_correct,
)


@pytest.mark.parametrize(("n", "k"), [(8, 30), (40, 30), (200, 5)])
def test_weights_are_the_most_probable_ones_wherever_the_search_begins(n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    features = rng.normal(0, 1.5, (n, k))
    first, second = rng.integers(0, 3, n), rng.integers(0, 3, n)

    def loss(weights):
        logits = features @ weights
        unlikely = first @ np.logaddexp(0, -logits) + second @ np.logaddexp(0, logits)
        return unlikely + weights @ weights / (2 * WEIGHT_SD**2)

    wanted = minimize(loss, np.zeros(k), tol=1e-10).x
    for start in (np.zeros(k), rng.normal(0, 5, k)):
        assert fitted_weights(features, first, second, start=start) == pytest.approx(wanted, abs=1e-4)


def test_without_votes_nothing_is_learned() -> None:
    none = np.zeros(3, dtype=np.int64)
    assert fitted_weights(np.ones((3, 2)), none, none, start=np.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("margin", "first", "second"), [(0.3, 0, 4), (-2.0, 9, 1), (1.0, 0, 0), (0.0, 40, 0)]
)
def test_a_pair_s_votes_move_what_the_model_says_of_it(margin: float, first: int, second: int) -> None:
    def loss(x: float) -> float:
        unlikely = first * np.logaddexp(0, -x) + second * np.logaddexp(0, x)
        return float(unlikely + (x - margin) ** 2 / (2 * PAIR_SD**2))

    found = posterior_margins(np.array([margin]), np.array([first]), np.array([second]))
    assert found[0] == pytest.approx(minimize_scalar(loss).x, abs=1e-5)


def test_what_says_nothing_is_half_right() -> None:
    assert share_correct(np.array([1.0, -1.0, 0.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0])) == 0.625
