"""Post-screening of MUSHRA listeners by the two rules of BS.1534."""

from __future__ import annotations

import pytest

from analytics.statistics.raters.screening import RoleRatings, screen_listeners


def reference(n: int, low: int) -> RoleRatings:
    return RoleRatings("R-1", "hidden_reference", n, low, 0)


def anchor(n: int, high: int) -> RoleRatings:
    return RoleRatings("R-1", "anchor_7000", n, 0, high)


@pytest.mark.parametrize(
    ("rows", "marks"),
    [
        ([reference(20, 3), anchor(20, 3)], ()),  # 15 % is still forgiven
        ([reference(20, 4), anchor(20, 0)], ("hidden_reference_low",)),
        ([reference(20, 0), anchor(20, 4)], ("anchor_7000_high",)),
        ([reference(6, 1), anchor(6, 1)], ("hidden_reference_low", "anchor_7000_high")),
        ([reference(1, 1)], ("hidden_reference_low",)),
        ([anchor(0, 0)], ()),
    ],
)
def test_a_listener_is_marked_beyond_15_per_cent_of_their_trials(rows, marks):
    assert screen_listeners(rows)["R-1"].marks == marks


def test_each_listener_is_screened_by_their_own_trials():
    found = screen_listeners([reference(10, 2), RoleRatings("R-0", "hidden_reference", 10, 0, 0)])
    assert {rater: one.reference_low for rater, one in found.items()} == {"R-0": 0.0, "R-1": 0.2}
    assert found["R-0"].anchor_high is None
    assert list(found) == ["R-0", "R-1"]


def test_the_low_anchor_marks_nobody():
    assert screen_listeners([RoleRatings("R-1", "anchor_3500", 10, 0, 10)])["R-1"].marks == ()
