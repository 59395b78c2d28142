"""Two heads against an overall preference, figure by figure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.logistic_regression import (
    cross_validated_logits,
    logistic_fit,
    preference_regression,
)

RNG = np.random.default_rng(9)
N = 300
HEADS = RNG.normal(size=(N, 2))
LEADS = np.where(RNG.random(N) < special.expit(HEADS @ [2.0, 0.3]), 1, -1) * RNG.integers(0, 3, size=N)
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
