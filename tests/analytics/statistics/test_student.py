from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from analytics.statistics.intervals import t_quantile


@pytest.mark.parametrize(
    ("df", "upper_95", "upper_99"),
    [  # two-sided 95 % and 99 % points as printed in tables of the t distribution
        (1, 12.706, 63.657),
        (2, 4.303, 9.925),
        (3, 3.182, 5.841),
        (4, 2.776, 4.604),
        (5, 2.571, 4.032),
        (10, 2.228, 3.169),
        (20, 2.086, 2.845),
        (30, 2.042, 2.750),
        (60, 2.000, 2.660),
        (120, 1.980, 2.617),
    ],
)
def test_it_agrees_with_printed_tables(df, upper_95, upper_99):
    assert t_quantile(0.975, df=df) == pytest.approx(upper_95, abs=5e-4)
    assert t_quantile(0.995, df=df) == pytest.approx(upper_99, abs=5e-4)


@pytest.mark.parametrize("p", [0.5, 0.6, 0.9, 0.975, 0.995, 0.9999])
def test_it_equals_the_closed_forms_for_one_and_two_degrees_of_freedom(p):
    assert t_quantile(p, df=1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-11, abs=1e-15)
    assert t_quantile(p, df=2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-11)


@pytest.mark.parametrize("df", [3, 4, 17, 2000, 2001, 10**6])
def test_it_is_symmetric(df):
    assert t_quantile(0.025, df=df) == pytest.approx(-t_quantile(0.975, df=df), rel=1e-12)


def test_the_two_methods_meet_without_a_step():
    below, first, second = (t_quantile(0.975, df=df) for df in (2000, 2001, 2002))

    assert below - 2 * first + second == pytest.approx(0, abs=1e-9)


def test_it_approaches_the_normal_quantile():
    assert t_quantile(0.975, df=10**9) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-8)


@pytest.mark.parametrize(("p", "df"), [(0, 5), (1, 5), (float("nan"), 5), (0.975, 0)])
def test_it_refuses_what_has_no_quantile(p, df):
    with pytest.raises(ValueError, match="Needs a probability between 0 and 1"):
        t_quantile(p, df=df)
