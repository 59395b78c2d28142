"""Figures of judges of answers, against scipy and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.judges.orca_evaluation import (
    judge_figures,
    mean_rating_baseline,
    over_seeds,
    rater_ceiling,
)

RATINGS = [(1, 1), (5, 4, 5), (3, 2, 4, 1), (1,), (), (5, 5, 5), (2, 4, 3)]
MEANS = [0.1, 0.9, 0.4, 0.1, 0.7, np.nan, 0.6]


def test_figures_are_those_of_scipy_on_answers_with_both():
    found = judge_figures(MEANS, RATINGS)
    kept = [0, 1, 2, 3, 6]
    said, people = np.array(MEANS)[kept], [(np.mean(RATINGS[at]) - 1) / 4 for at in kept]
    assert found.spearman.value == pytest.approx(stats.spearmanr(said, people).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(said, people).statistic)
    assert found.mae_mean.value == pytest.approx(np.abs(said - people).mean())
    assert {found.spearman.n, found.kendall.n, found.mae_mean.n} == {5}


def test_variances_count_from_three_ratings_on_and_are_unbiased_unless_said_otherwise():
    foretold = [0.2, 0.01, 0.05, 0.2, 0.2, np.nan, 0.1]
    for unbiased, ddof in ((True, 1), (False, 0)):
        found = judge_figures(MEANS, RATINGS, variances=foretold, unbiased=unbiased).mae_variance
        errors = [abs(foretold[at] - np.var(RATINGS[at], ddof=ddof) / 16) for at in (1, 2, 6)]
        assert (found.value, found.n) == (pytest.approx(np.mean(errors)), 3)


def test_what_is_not_defined_has_a_reason():
    found = judge_figures([0.5] * 7, RATINGS)
    assert (found.spearman.value, found.spearman.reason) == (None, "constant_scores")
    assert (found.mae_variance.value, found.mae_variance.reason) == (None, "no_variances")
    nothing = judge_figures([0.5], [()])
    assert (nothing.spearman.reason, nothing.mae_mean.reason) == ("too_few", "no_answers")
    assert judge_figures([], []).mae_mean.reason == "no_answers"


def test_the_average_rating_has_errors_and_no_ranks():
    train = [(1, 1, 4), (5,), ()]
    found = mean_rating_baseline(train, RATINGS)
    mean = np.mean([(2 - 1) / 4, 1.0])
    people = [(np.mean(given) - 1) / 4 for given in RATINGS if given]
    assert found.mae_mean.value == pytest.approx(np.abs(np.array(people) - mean).mean())
    assert (found.spearman.value, found.kendall.reason) == (None, "constant_scores")
    spread = np.var([1, 1, 4], ddof=1) / 16
    own = [np.var(given, ddof=1) / 16 for given in RATINGS if len(given) > 2]
    assert found.mae_variance.value == pytest.approx(np.abs(np.array(own) - spread).mean())
    assert mean_rating_baseline([], RATINGS).mae_mean.reason == "no_answers"


def test_the_ceiling_compares_one_rater_and_the_judge_with_the_mean_of_the_others():
    ratings = [(1, 2), (3, 3), (5, 4), (2, 2), (1, 5)]
    said = [0.0, 0.5, 1.0, 0.2, 0.4]
    found = rater_ceiling(said, ratings)
    own = [one for given in ratings for one in given]
    rest = [given[1 - at] for given in ratings for at in (0, 1)]
    assert found.rater.value == pytest.approx(stats.spearmanr(own, rest).statistic)
    assert found.judge.value == pytest.approx(stats.spearmanr(np.repeat(said, 2), rest).statistic)
    assert found.rater.n == 5
    alone = rater_ceiling([0.1, 0.2], [(1,), (2,)])
    assert (alone.rater.value, alone.rater.reason) == (None, "no_rest")


def test_splits_are_averaged_where_the_figure_is_defined():
    found = over_seeds([0.7, None, 0.8, 0.9])
    assert (found.mean, found.n) == (pytest.approx(0.8), 3)
    assert found.sd == pytest.approx(np.std([0.7, 0.8, 0.9], ddof=1))
    assert (over_seeds([0.5]).mean, over_seeds([0.5]).sd) == (0.5, None)
    assert (over_seeds([None]).mean, over_seeds([None]).reason) == (None, "no_seeds")
