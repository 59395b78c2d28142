from __future__ import annotations

import pytest

from analytics.statistics.agreement.patterns import patterns_from_rows
from analytics.statistics.ratings.contested import variance_counts


def test_each_reading_of_a_variance_above_one_is_counted_apart():
    # By n: 0.25, 2/3, 1, 4. By n - 1: 0.5, 1, 2, 8. And one rating alone.
    units = [{4.0: 1, 5.0: 1}, {2.0: 1, 3.0: 1, 4.0: 1}, {1.0: 1, 3.0: 1}, {1.0: 1, 5.0: 1}, {1.0: 1}]
    found = variance_counts(patterns_from_rows([(unit, 10) for unit in units]), threshold=1.0)
    assert (found.units, found.pairable_units) == (50, 40)
    assert (found.population_above, found.population_reaching) == (10, 20)
    assert (found.unbiased_above, found.unbiased_reaching) == (20, 30)


def test_nothing_rated_has_no_spread():
    found = variance_counts(patterns_from_rows([]), threshold=1.0)
    assert (found.units, found.unbiased_reaching) == (0, 0)


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_a_threshold_is_above_zero(threshold):
    with pytest.raises(ValueError, match="above zero"):
        variance_counts(patterns_from_rows([]), threshold=threshold)
