"""What counts as genuinely disputed, and in which order it is listed."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.ratings.contested import contested_units

UNIT = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5, 5])
VALUE = np.array([1.0, 5, 2, 2, 1, 5, 5, 1, 1, 5, 5, 1, 4])


def found(**fields):
    return contested_units(
        UNIT, VALUE, **{"adjusted": None, "reported": np.arange(6) == 2, "threshold": 1.0, **fields}
    )


def test_far_apart_and_unreported_is_contested():
    result = found()
    assert result.above_threshold.tolist() == [True, False, True, False, True, True]
    assert result.explained.tolist() == [False, False, True, False, False, False]
    assert result.pairable.tolist() == [True, True, True, False, True, True]


def test_the_furthest_apart_come_first_then_those_with_more_ratings():
    assert found().ranked_units().tolist() == [4, 0, 5]


def test_what_severity_explains_is_not_contested():
    strict = np.where(VALUE == 1, 2.5, VALUE)  # whoever gives a 1 rates so throughout
    result = found(adjusted=strict)
    assert result.ranked_units().tolist() == [4, 0]
    assert result.adjusted_variance[5] == pytest.approx(np.var([2.5, 4]))


def test_a_threshold_is_above_zero():
    with pytest.raises(ValueError, match="above zero"):
        found(threshold=0.0)
