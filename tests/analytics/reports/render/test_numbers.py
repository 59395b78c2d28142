from __future__ import annotations

import pytest

from analytics.reports.document import Column, Measured
from analytics.reports.render.layout import format_interval, format_value

NUMBER, PERCENT, COUNT = Column("n", "", "number", 2), Column("p", "", "percent", 1), Column("c", "", "count")

P = Column("p", "", "p", 3)


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (0.1234, NUMBER, "0.12"),
        (-1.5, NUMBER, "−1.50"),
        (-0.004, NUMBER, "0.00"),
        (0.0, NUMBER, "0.00"),
        (4, NUMBER, "4.00"),
        (0.1234, PERCENT, "12.3\u00a0%"),
        (-0.5, PERCENT, "−50.0\u00a0%"),
        (1234567, COUNT, "1,234,567"),
        (3.0, COUNT, "3"),
        (-1, COUNT, "−1"),
        (0.00009, P, "< 0.001"),
        (0.0, P, "< 0.001"),
        (0.001, P, "0.001"),
        (0.25, P, "0.250"),
        (None, P, "–"),
        (None, NUMBER, "–"),
        ("∞", NUMBER, "∞"),
        (2.5, Column("t", ""), "2.5"),
    ],
)
def test_a_value_has_the_digits_of_its_column_and_no_sign_before_zero(value, column, text):
    assert format_value(value, column) == text


def test_an_interval_has_the_digits_of_its_value_and_stands_in_brackets():
    assert format_interval(Measured(0.5, -0.25, 1.0), NUMBER) == "[−0.25, 1.00]"
    assert format_interval(Measured(0.5, 0.25, 0.75), PERCENT) == "[25.0, 75.0]"
    assert format_interval(Measured(2, 1, 3), COUNT) == "[1, 3]"


def test_without_both_ends_there_is_no_interval():
    assert format_interval(Measured(0.5, 0.25, None), NUMBER) == ""
    assert format_interval(Measured(0.5), NUMBER) == ""
