from __future__ import annotations

import math

import numpy as np
import pytest

from analytics.statistics.agreement.alpha import LEVELS, krippendorff_alpha
from analytics.statistics.agreement.alpha_intervals import jackknife_standard_error, leave_one_unit_out_alphas
from analytics.statistics.agreement.disagreement import (
    interval_disagreement,
    nominal_disagreement,
    ordinal_disagreement,
    ratio_disagreement,
    symmetric_disagreement,
)
from analytics.statistics.agreement.patterns import Patterns, patterns_from_long

MEASURES = {
    "nominal": nominal_disagreement,
    "ordinal": ordinal_disagreement,
    "interval": interval_disagreement,
    "ratio": ratio_disagreement,
}


def random_ratings(seed: int, *, values: int = 5) -> Patterns:
    random = np.random.default_rng(seed)
    raters, number = int(random.integers(2, 7)), int(random.integers(3, 25))
    truth = random.integers(0, values, number)
    ratings = np.where(
        random.random((raters, number)) < 0.5, truth, random.integers(0, values, (raters, number))
    ).astype(float)
    ratings[random.random(ratings.shape) < random.random() * 0.6] = np.nan
    return patterns_from_long(np.tile(np.arange(number), raters), ratings.ravel()).pairable()


@pytest.mark.parametrize("level", LEVELS)
def test_leaving_a_unit_out_by_formula_equals_leaving_it_out_of_the_data(level):
    for seed in range(60):
        patterns = random_ratings(seed)
        sums = MEASURES[level](patterns)
        by_formula = leave_one_unit_out_alphas(patterns, measure=MEASURES[level], sums=sums)
        afresh = [krippendorff_alpha(patterns.without(p), level=level).alpha for p in range(len(by_formula))]
        expected = [math.nan if alpha is None else alpha for alpha in afresh]

        np.testing.assert_allclose(by_formula, expected, rtol=0, atol=1e-12)


def test_leaving_a_unit_out_holds_for_arbitrary_labels():
    patterns = patterns_from_long([1, 1, 2, 2, 2, 3, 3, 4, 4], [0, 1, 0, 0, 1, 1, 1, 0, 0])
    sums = symmetric_disagreement(patterns)

    by_formula = leave_one_unit_out_alphas(patterns, measure=symmetric_disagreement, sums=sums)

    for p, alpha in enumerate(by_formula):
        rest = patterns.without(p)
        fresh = symmetric_disagreement(rest)
        assert alpha == pytest.approx(1 - (rest.ratings - 1) * fresh.observed / fresh.expected, abs=1e-15)


@pytest.mark.parametrize("typo", [1e6, 1e12])
def test_a_unit_that_dwarfs_the_others_does_not_drown_them_when_it_is_left_out(typo):
    ratings = [1, 2, 3, 3, 5, 4, 2, 2, 5, typo]
    unit = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    patterns = patterns_from_long(unit, ratings)

    alphas = leave_one_unit_out_alphas(
        patterns, measure=interval_disagreement, sums=interval_disagreement(patterns)
    )

    clean = krippendorff_alpha(patterns_from_long(unit[:8], ratings[:8]), level="interval").alpha
    dwarf = int(patterns.pattern[patterns.code == len(patterns.values) - 1][0])
    assert alphas[dwarf] == pytest.approx(clean, abs=1e-12)


def test_the_standard_error_weighs_equal_units_by_their_number():
    once = patterns_from_long([1, 1, 2, 2, 3, 3, 4, 4, 5, 5], [1, 2, 1, 2, 1, 1, 2, 2, 2, 2])
    alphas = [krippendorff_alpha(once.without(p), level="nominal").alpha for p in range(3)]
    listed = np.repeat(alphas, once.multiplicity)

    error, reason = jackknife_standard_error(
        once, measure=nominal_disagreement, sums=nominal_disagreement(once)
    )

    assert error == pytest.approx(math.sqrt(4 / 5 * ((listed - listed.mean()) ** 2).sum()), abs=1e-14)
    assert reason is None
