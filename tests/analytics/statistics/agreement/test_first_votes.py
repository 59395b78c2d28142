from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from analytics.statistics.agreement.alpha import krippendorff_alpha
from analytics.statistics.agreement.first_votes import first_votes, overlap_sample
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.agreement.percent_agreement import percent_agreement


def alpha(unit: np.ndarray, value: np.ndarray) -> float:
    return krippendorff_alpha(patterns_from_long(unit, value), level="nominal").alpha


def test_the_first_votes_of_each_unit_are_kept_by_time():
    found = first_votes(["b", "a", "b", "a", "b"], [3, 2, 1, 5, 2], k=2, ids=[1, 2, 3, 4, 5])

    assert found.kept.tolist() == [False, True, True, True, True]
    assert (found.k, found.units, found.short) == (2, 2, 0)


def test_votes_of_the_same_time_follow_their_ids_whatever_order_they_come_in():
    unit, time, label = np.array([1, 1, 1]), np.array([7, 7, 7]), np.array([30, 10, 20])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        kept = first_votes(unit[order], time[order], k=2, ids=label[order]).kept
        assert sorted(label[order][kept]) == [10, 20]


def test_units_with_fewer_votes_keep_them_and_are_counted():
    found = first_votes([1, 1, 2], [1, 2, 3], k=2, ids=[1, 2, 3])

    assert found.kept.all()
    assert (found.units, found.short) == (2, 1)


@pytest.mark.parametrize("kind", ["datetime64", "objects"])
def test_times_may_be_dates(kind):
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 1, 2)]
    times = (
        days if kind == "objects" else np.array(["2026-01-03", "2026-01-01", "2026-01-02"], "datetime64[D]")
    )

    assert first_votes([1, 1, 1], times, k=1, ids=["x", "y", "z"]).kept.tolist() == [False, True, False]


def test_no_votes_are_no_units():
    found = first_votes([], [], k=3, ids=[])
    assert (found.units, found.short, found.kept.size) == (0, 0, 0)


@pytest.mark.parametrize(
    ("columns", "k", "sentence"),
    [
        (([1], [1], [1]), 0, "k is at least 1"),
        (([1, 2], [1], [1]), 1, "columns of equal length"),
        (([1, 1], [1.0, float("nan")], [1, 2]), 1, "has no time"),
        (([1, 1], [1, None], [1, 2]), 1, "has no time"),
        (([1, 1], [1, 2], [5, 5]), 1, "the same id"),
    ],
)
def test_it_refuses_what_does_not_say_which_came_first(columns, k, sentence):
    unit, times, ids = columns
    with pytest.raises(ValueError, match=sentence):
        first_votes(unit, times, k=k, ids=ids)


def test_the_overlap_sample_is_drawn_by_lot_whatever_order_the_units_come_in():
    units = np.repeat(np.arange(1000), 2)
    chosen = overlap_sample(units, share=0.1, seed=4)

    assert len(chosen) == len(set(chosen.tolist())) == 100
    assert (overlap_sample(units[::-1], share=0.1, seed=4) == chosen).all()
    assert (overlap_sample(units, share=0.1, seed=5) != chosen).any()
    with pytest.raises(ValueError, match="between 0 and 1; got 0"):
        overlap_sample(units, share=0, seed=1)


def test_votes_that_were_asked_for_on_disagreement_bias_agreement_and_the_first_ones_do_not():
    """Two votes per unit, a third where they differ: all votes together overstate alpha and understate agreement."""
    random = np.random.default_rng(8)
    number = 200_000
    chance = random.beta(0.816, 0.816, number)  # agreement of pairs .69, alpha .38
    votes = (random.random((3, number)) < chance).astype(int)
    third = votes[0] != votes[1]
    unit = np.concatenate([np.arange(number), np.arange(number), np.flatnonzero(third)])
    value = np.concatenate([votes[0], votes[1], votes[2][third]])
    time = np.repeat([0, 1, 2], [number, number, third.sum()])
    shuffled = random.permutation(len(unit))
    unit, value, time = unit[shuffled], value[shuffled], time[shuffled]

    first = first_votes(unit, time, k=2, ids=np.arange(len(unit)))
    truth = alpha(np.tile(np.arange(number), 3), votes.ravel())
    drawn = np.isin(np.arange(number), overlap_sample(np.arange(number), share=0.2, seed=0))
    overlap = np.tile(drawn, 3)

    assert first.short == 0
    assert truth == pytest.approx(0.380, abs=0.005)
    assert alpha(unit[first.kept], value[first.kept]) == pytest.approx(truth, abs=0.006)
    assert alpha(np.tile(np.arange(number), 3)[overlap], votes.ravel()[overlap]) == pytest.approx(
        truth, abs=0.01
    )
    assert alpha(unit, value) == pytest.approx(0.464, abs=0.006)
    shares = [
        percent_agreement(patterns_from_long(unit[rows], value[rows])).pooled_pairs
        for rows in (first.kept, slice(None))
    ]
    assert shares == pytest.approx([0.690, 0.618], abs=0.003)
