"""What clamping sets to 0 and 1, and the threshold that does best on the development part."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scoring.metrics.orca.clamping import THRESHOLD_WEIGHTS, clamp_means, find_clamp_threshold


def test_only_sure_means_near_an_end_become_that_end() -> None:
    means = np.array([0.1, 0.1, 0.125, 0.5, 0.875, 0.9, 0.9])
    variances = np.array([0.02, 0.021, 0.0, 0.0, 0.0, 0.02, 0.3])
    assert clamp_means(means, variances, at_most=0.02).tolist() == [0.0, 0.1, 0.125, 0.5, 0.875, 1.0, 0.9]
    assert clamp_means(means, variances, at_most=None).tolist() == means.tolist()


@pytest.mark.parametrize("by", ["paper", "code"])
def test_the_threshold_is_the_best_of_all(by: str) -> None:
    chance = np.random.default_rng(6)
    people = chance.choice([0, 0, 0, 0.25, 0.5, 1, 1], size=60).astype(float)
    means = np.clip(people * 0.9 + 0.05 + chance.normal(0, 0.05, 60), 0.001, 0.999)
    variances = np.abs(people - means) * chance.random(60)
    weights = THRESHOLD_WEIGHTS[by]

    def goodness(at_most: float) -> float:
        given = clamp_means(means, variances, at_most=at_most)
        rho, tau = stats.spearmanr(given, people).statistic, stats.kendalltau(given, people).statistic
        return float(rho + tau - weights[2] * np.abs(given - people).mean())

    found = find_clamp_threshold(means, variances, people, weights=weights)
    between = np.convolve(np.sort(variances), [0.5, 0.5], mode="valid")
    best = max(goodness(at_most) for at_most in [0.0, *between, variances.max()])
    assert found.at_most is not None
    assert found.before is not None
    assert goodness(found.at_most) == pytest.approx(found.after)
    assert found.after == pytest.approx(best)
    assert found.after > found.before


def test_there_is_none_where_clamping_does_no_better() -> None:
    people = np.array([0.0, 0.05, 0.5, 0.95, 1.0])
    found = find_clamp_threshold(people.copy(), np.full(5, 0.01), people, weights=THRESHOLD_WEIGHTS["paper"])
    assert found.at_most is None
    assert found.after == found.before == pytest.approx(2.0)


def test_it_is_undefined_where_nothing_varies() -> None:
    found = find_clamp_threshold(
        np.full(4, 0.1), np.zeros(4), np.array([0.0, 1.0, 0.0, 1.0]), weights=THRESHOLD_WEIGHTS["paper"]
    )
    assert (found.at_most, found.before, found.after) == (None, None, None)
