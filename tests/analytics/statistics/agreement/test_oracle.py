from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.agreement.alpha import LEVELS, krippendorff_alpha
from analytics.statistics.agreement.oracle import package_alpha
from analytics.statistics.agreement.patterns import patterns_from_long


@pytest.mark.parametrize("missing", [0.0, 0.2, 0.5, 0.7])
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_krippendorff_package(level, missing):
    random = np.random.default_rng(round(10 * missing))
    defined = 0
    for _ in range(60):
        raters, categories, number = (int(random.integers(2, top)) for top in (8, 8, 40))
        values = np.sort(random.choice(50, size=categories, replace=False)) / 4
        truth = random.choice(values, size=number)
        ratings = np.where(
            random.random((raters, number)) < 0.5, truth, random.choice(values, (raters, number))
        )
        ratings[random.random(ratings.shape) < missing] = np.nan
        patterns = patterns_from_long(np.tile(np.arange(number), raters), ratings.ravel())

        ours, theirs = krippendorff_alpha(patterns, level=level).alpha, package_alpha(patterns, level=level)

        assert (ours is None) == (theirs is None)
        if ours is not None:
            defined += 1
            assert ours == pytest.approx(theirs, abs=1e-12)
    assert defined > 40


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ([], []),
        ([1, 2], [3, 4]),
        ([1, 1], [3, 3]),
        ([1, 1, 2], [3, 3, 4]),
    ],
    ids=["no ratings", "no pairs", "one value", "no variation among pairs"],
)
def test_it_answers_none_where_the_package_refuses_or_answers_nan(unit, value):
    assert package_alpha(patterns_from_long(unit, value), level="nominal") is None


def test_it_refuses_data_that_the_package_has_no_memory_for():
    values = np.arange(3000.0)

    with pytest.raises(ValueError, match="would need about 302 GB"):
        package_alpha(patterns_from_long(np.arange(3000) // 2, values), level="interval")
