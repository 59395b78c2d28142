"""Votes saved at equal accuracy: against curves whose answer is plain, and scipy's isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from analytics.statistics.planning.ordering_simulation import monotone, vote_saving

MOMENTS = np.arange(0.0, 101.0, 10.0)
RISING = 0.5 + 0.4 * MOMENTS / 100


def runs(curve, *, n: int = 40, noise: float = 0.01, seed: int = 1):
    return np.asarray(curve) + np.random.default_rng(seed).normal(0, noise, (n, len(MOMENTS)))


def test_curves_are_made_monotone_as_scipy_does() -> None:
    curves = np.random.default_rng(3).random((20, 15))
    wanted = [isotonic_regression(curve).x for curve in curves]
    assert np.allclose(monotone(curves), wanted)


def test_an_order_that_is_twice_as_fast_saves_half() -> None:
    fast = np.minimum(0.5 + 0.8 * MOMENTS / 100, 0.9)
    found = vote_saving(runs(RISING), runs(fast, seed=2), MOMENTS, accuracy=0.7)
    assert found.reference_votes == pytest.approx(50, abs=2)
    assert found.votes == pytest.approx(25, abs=2)
    assert found.interval is not None
    assert found.interval[0] < 0.5 < found.interval[1]
    assert found.interval[0] > 0.4


def test_an_order_that_is_slower_saves_less_than_nothing() -> None:
    slow = 0.5 + 0.3 * MOMENTS / 100
    found = vote_saving(runs(RISING), runs(slow, seed=2), MOMENTS, accuracy=0.65)
    assert found.saved == pytest.approx(1 - 50 / 37.5, abs=0.1)
    assert found.interval is not None
    assert found.interval[1] < 0


def test_equal_orders_save_nothing_in_nineteen_of_twenty_intervals() -> None:
    covered = 0
    for seed in range(20):
        one, other = (runs(RISING, noise=0.05, seed=2 * seed + k) for k in (0, 1))
        found = vote_saving(one, other, MOMENTS, accuracy=0.7)
        assert found.interval is not None
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert covered >= 16  # of 20 at 95 %, fewer than this has a chance below one in a hundred


def test_identical_runs_save_exactly_nothing() -> None:
    found = vote_saving(runs(RISING), runs(RISING), MOMENTS, accuracy=0.7)
    assert (found.saved, found.interval) == (0, (0, 0))


@pytest.mark.parametrize(
    ("accuracy", "other", "reason"),
    [(0.95, RISING, "reference_not_reached"), (0.8, 0.5 + 0 * MOMENTS, "not_reached")],
)
def test_what_is_not_reached_has_a_reason_and_no_figure(accuracy, other, reason) -> None:
    found = vote_saving(runs(RISING), runs(other, seed=2), MOMENTS, accuracy=accuracy)
    assert (found.saved, found.interval, found.reason) == (None, None, reason)


def test_two_replicates_have_no_interval() -> None:
    found = vote_saving(runs(RISING, n=2), runs(RISING, n=2, seed=2), MOMENTS, accuracy=0.7)
    assert found.saved is not None
    assert (found.interval, found.reason) == (None, "few_replicates")
