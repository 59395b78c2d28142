"""Best of N: the mean of the outputs, the first N, the first of equals."""

from __future__ import annotations

import pytest

from annotation.errors import InvalidInput
from scoring.files.best_of_n import best_of_first, criterion, ranks


def test_the_criterion_is_the_mean_of_alignment_and_musicality() -> None:
    readings = {"alignment": 1.0, "musicality": -0.5}
    assert criterion(readings) == 0.25
    assert criterion(readings, ["musicality"]) == -0.5
    with pytest.raises(InvalidInput, match="no output 'beauty'; it has alignment, musicality"):
        criterion(readings, ["beauty"])


def test_a_main_output_stands_alone() -> None:
    assert criterion({"value": 0.7, "variance": 9.0}) == 0.7


@pytest.mark.parametrize(("n", "place"), [(1, None), (2, 1), (3, 1), (4, 3), (10, 3)])
def test_the_best_of_n_is_among_the_first_n(n: int, place: int | None) -> None:
    assert best_of_first([None, 0.5, 0.5, 2.0], n) == place


def test_ranks_leave_out_what_has_no_value() -> None:
    assert ranks([0.5, None, 2.0, 0.5]) == [2, None, 1, 3]
