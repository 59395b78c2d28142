"""Whether raters, sittings and times met the same systems."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.ratings.range_equalising import (
    SystemAbsence,
    rating_sessions,
    system_absences,
    system_exposure,
)


def test_everybody_who_met_every_system_is_in_the_same_company():
    found = system_exposure(np.tile([0, 1, 2], 4), np.repeat([7, 8, 9, 10], 3))
    assert (found.groups, found.all, found.most, found.few) == (4, 4, 0, 0)
    assert (found.overlap, found.never_together, found.differs) == (1.0, 0, False)


def test_how_many_met_which_share_is_counted():
    # Rater 0 met all four systems, 1 half of them, 2 and 3 one each.
    found = system_exposure(np.array([0, 1, 2, 3, 0, 1, 2, 3]), np.array([0, 0, 0, 0, 1, 1, 2, 3]))
    assert (found.systems, found.all, found.most, found.few) == (4, 1, 1, 2)
    sets = [{0, 1, 2, 3}, {0, 1}, {2}, {3}]
    pairs = [len(a & b) / len(a | b) for i, a in enumerate(sets) for b in sets[i + 1 :]]
    assert found.overlap == pytest.approx(np.mean(pairs))
    assert found.differs


def test_systems_that_nobody_met_both_of_are_counted_and_one_group_has_no_overlap():
    apart = system_exposure(np.array([0, 1, 0, 1]), np.array([0, 1, 2, 3]))
    assert (apart.never_together, apart.overlap) == (1, pytest.approx(2 / 6))
    assert system_exposure(np.array([0, 1]), np.array([0, 0])).overlap is None


def test_a_system_that_came_late_is_absent_from_the_windows_before():
    system = np.concatenate([np.tile([0, 1], 50), np.tile([0, 1, 2, 2], 25)])
    assert system_absences(system, np.arange(200) * 60.0) == [SystemAbsence(2, (1, 2))]


def test_what_chance_leaves_out_is_no_absence():
    system = np.concatenate([np.zeros(199, dtype=int), [1]])
    assert system_absences(system, np.arange(200) * 60.0) == []


def test_what_was_written_at_once_has_no_order():
    system = np.repeat([0, 1], 100)
    assert system_absences(system, np.arange(200) * 0.001) == []
    assert system_absences(system, np.zeros(200)) == []
    assert system_absences(system, np.repeat([0.0, 9999.0], 100)) == [
        SystemAbsence(0, (3,)),
        SystemAbsence(1, (1,)),
    ]


def test_a_sitting_ends_with_a_long_break():
    rater, at = np.array([1, 0, 0, 1, 0]), np.array([5.0, 0.0, 4000.0, 100.0, 1000.0])
    assert rating_sessions(rater, at).tolist() == [2, 0, 1, 2, 0]
    assert rating_sessions(np.zeros(0, dtype=int), np.zeros(0)).tolist() == []
