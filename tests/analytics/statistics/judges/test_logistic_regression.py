"""Logistic regression, its cross-validation, and what a preference owes to two heads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.logistic_regression import (
    cross_validated_logits,
    grouped_folds,
    logistic_fit,
    preference_regression,
    probability,
)

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 2)) * [3.0, 0.02]
SHARES = np.round(special.expit(X @ [0.5, 40.0] + 0.3) * 4 + RNG.uniform(-1, 1, 120)).clip(0, 4) / 4


def by_optimiser(features, targets, *, intercept, penalty):
    scale = np.sqrt((features**2).mean(axis=0))

    def loss(at):
        logits = features / scale @ at[:2] + (at[2] if intercept else 0)
        fit = -(targets * np.log(special.expit(logits)) + (1 - targets) * np.log(special.expit(-logits)))
        return fit.sum() + penalty * (at[:2] ** 2).sum() / 2 + (0.5e-6 * at[2] ** 2 if intercept else 0)

    found = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    return [*(found[:2] / scale), found[2] if intercept else 0.0]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [1.0, 0.01])
def test_the_fit_is_that_of_a_general_optimiser(intercept, penalty):
    fit = logistic_fit(X, SHARES, intercept=intercept, penalty=penalty)
    expected = by_optimiser(X, SHARES, intercept=intercept, penalty=penalty)
    assert [*fit.coefficients, fit.intercept] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_the_unit_of_a_feature_changes_no_prediction():
    stretched = logistic_fit(X * [1000, 1e-3], SHARES, intercept=True).logits(X * [1000, 1e-3])
    assert stretched == pytest.approx(logistic_fit(X, SHARES, intercept=True).logits(X))


def test_a_fit_exists_where_a_feature_tells_all_apart_or_nothing():
    x = np.array([[-1.0], [-2], [1], [2]])
    assert 0 < logistic_fit(x, np.array([0.0, 0, 1, 1]), intercept=True).coefficients[0] < 10
    nothing = logistic_fit(np.zeros((3, 1)), np.array([1.0, 1, 0]), intercept=False)
    assert (nothing.coefficients.tolist(), nothing.intercept) == ([0.0], 0.0)
    assert np.isfinite(logistic_fit(x, np.ones(4), intercept=True).intercept)


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(ValueError, match="finite"):
        logistic_fit(np.array([[np.inf]]), np.array([1.0]), intercept=False)
    with pytest.raises(ValueError, match="finite"):
        logistic_fit(np.array([[1.0]]), np.array([2.0]), intercept=False)
    with pytest.raises(ValueError, match="row"):
        logistic_fit(np.zeros((0, 1)), np.zeros(0), intercept=False)


def test_folds_keep_clusters_together_and_are_about_equal():
    clusters = np.repeat(np.arange(23), np.arange(23) % 4 + 1)
    folds = grouped_folds(clusters, folds=5, seed=3)
    assert all(len(set(folds[clusters == one])) == 1 for one in range(23))
    sizes = np.bincount(folds)
    assert len(sizes) == 5
    assert np.ptp(sizes) <= 1
    order = np.random.default_rng(1).permutation(len(clusters))
    assert grouped_folds(clusters[order], folds=5, seed=3).tolist() == folds[order].tolist()
    assert grouped_folds(clusters, folds=5, seed=4).tolist() != folds.tolist()
    assert sorted(grouped_folds(np.array([7, 8]), folds=5)) == [0, 1]


def test_a_pair_is_foreseen_from_other_clusters_alone():
    clusters = np.arange(120) // 3
    found = cross_validated_logits(X, SHARES, clusters=clusters, intercept=True, seed=2)
    folds = grouped_folds(clusters, seed=2)
    out = folds == folds[17]
    by_hand = logistic_fit(X[~out], SHARES[~out], intercept=True).logits(X[out])
    assert found[out].tolist() == by_hand.tolist()
    one = cross_validated_logits(X, SHARES, clusters=np.zeros(120, dtype=int), intercept=True)
    assert one is None


def test_probabilities_of_any_size_are_finite():
    assert probability(np.array([-1e9, -1.0, 0, 1, 1e9])).tolist() == pytest.approx(
        [0, special.expit(-1), 0.5, special.expit(1), 1]
    )


HEAD_RNG = np.random.default_rng(9)
N = 300
HEADS = HEAD_RNG.normal(size=(N, 2))
LEADS = np.where(HEAD_RNG.random(N) < special.expit(HEADS @ [2.0, 0.3]), 1, -1) * HEAD_RNG.integers(
    0, 3, size=N
)
PROMPTS = (np.arange(N) // 3).tolist()
QUICK = Resampling(replicates=20)


@pytest.fixture(scope="module")
def found():
    return preference_regression(HEADS, LEADS, clusters=PROMPTS, resampling=QUICK)


def test_each_predictor_has_accuracy_area_and_error_over_the_decided_pairs(found):
    decided = LEADS != 0
    first = LEADS[decided] > 0
    by_name = {one.name: one for one in found.predictors}
    columns = {"first": HEADS[:, 0], "second": HEADS[:, 1], "sum": HEADS.sum(axis=1)}
    for name, column in columns.items():
        x = column[decided]
        assert by_name[name].accuracy.value == pytest.approx(((x > 0) == first).mean())
        u = stats.mannwhitneyu(x[first], x[~first]).statistic
        assert by_name[name].auc.value == pytest.approx(u / first.sum() / (~first).sum())
        assert by_name[name].mse.value == pytest.approx(((special.expit(x) - first) ** 2).mean())
    assert found.n == decided.sum()


def test_the_regression_foresees_pairs_of_other_prompts(found):
    decided = LEADS != 0
    first = (LEADS[decided] > 0).astype(float)
    logits = cross_validated_logits(
        HEADS[decided], first, clusters=(np.arange(N) // 3)[decided], intercept=True, seed=QUICK.seed
    )
    logistic = found.predictors[-1]
    assert logistic.name == "logistic"
    assert logistic.accuracy.value == pytest.approx(((logits > 0) == (first > 0)).mean())
    fit = logistic_fit(HEADS[decided], first, intercept=True)
    assert (*found.coefficients, found.intercept) == pytest.approx((*fit.coefficients, fit.intercept))


def test_the_head_that_decides_shows_in_the_coefficients(found):
    assert found.coefficients[0] > 2 * abs(found.coefficients[1])


def test_one_prompt_alone_cannot_be_tried_on_others():
    found = preference_regression(HEADS, LEADS, clusters=["a"] * N, resampling=QUICK)
    assert [one.name for one in found.predictors] == ["first", "second", "sum"]


def test_undecided_pairs_and_those_without_a_head_do_not_count():
    heads = np.array([[1, 1], [np.nan, 1], [1, np.inf], [2, 1], [-1, 0]])
    assert preference_regression(heads, [1, 1, 1, 0, -1], resampling=QUICK).n == 2
    assert preference_regression(heads, np.zeros(5), resampling=QUICK) is None
    one_side = preference_regression(heads, [1, 1, 1, 1, 1], resampling=QUICK)
    assert one_side.predictors[0].auc.reason == "one_class"
