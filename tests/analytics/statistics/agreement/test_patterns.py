from __future__ import annotations

import uuid

import numpy as np
import pytest

from analytics.statistics.agreement.patterns import (
    Patterns,
    patterns_from_counts,
    patterns_from_long,
    patterns_from_rows,
)


def content(patterns: Patterns) -> tuple[list[float], list[list[int]], list[int]]:
    return patterns.values.tolist(), patterns.counts.tolist(), patterns.multiplicity.tolist()


def test_it_stores_equal_units_once():
    patterns = patterns_from_long([7, 7, 8, 8, 9, 9, 9], [1, 2, 2, 1, 5, 5, 1])

    assert content(patterns) == ([1, 2, 5], [[1, 1, 0], [1, 0, 2]], [2, 1])
    assert (patterns.units, patterns.ratings) == (3, 7)


def test_it_drops_missing_ratings_and_units_without_any():
    patterns = patterns_from_long(["a", "a", "b", "c"], [3, None, float("nan"), 4])

    assert content(patterns) == ([3, 4], [[1, 0], [0, 1]], [1, 1])


def test_it_accepts_no_ratings_at_all():
    patterns = patterns_from_long([], [])

    assert content(patterns) == ([], [], [])
    assert (patterns.units, patterns.ratings) == (0, 0)


@pytest.mark.parametrize(
    "names",
    [
        [3, 1, 2],
        [10**12, -5, 0],
        ["c", "a", "b"],
        [0.5, -1.5, 2.0],
        [uuid.UUID(int=n) for n in (9, 4, 6)],
    ],
    ids=["small", "sparse", "text", "float", "uuid"],
)
def test_any_sortable_identifiers_name_units(names):
    patterns = patterns_from_long([names[i] for i in (0, 1, 2, 0, 1, 2)], [1, 1, 2, 1, 2, 2])

    assert content(patterns) == ([1, 2], [[2, 0], [1, 1], [0, 2]], [1, 1, 1])


@pytest.mark.parametrize("scale", [3, 2000], ids=["short scale", "long scale"])
def test_the_three_builders_agree_to_the_last_bit(scale):
    random = np.random.default_rng(3)
    table = np.zeros((60, scale), dtype=int)
    for _ in range(4):
        table[np.arange(60), random.integers(0, scale, 60)] += 1
    table = table[:, table.any(axis=0)]
    values = np.arange(table.shape[1]) * 0.5
    row, code = np.nonzero(table)

    counted = patterns_from_counts(values, table)
    long = patterns_from_long(np.repeat(row, table[row, code]), np.repeat(values[code], table[row, code]))
    named = patterns_from_rows(
        ({values[c]: n for c, n in enumerate(line) if n}, 1) for line in reversed(table.tolist())
    )

    for other in (long, named):
        assert content(other) == content(counted)


def test_rows_of_a_group_by_bring_their_multiplicities():
    rows = [({2: 2, 3: 1}, 5), ({1: 1, 3: 1}, 2), ({3: 1, 2: 2}, 3), ({1: 3}, 0)]

    assert content(patterns_from_rows(rows)) == ([1, 2, 3], [[1, 0, 1], [0, 2, 1]], [2, 8])


def test_counts_of_values_in_any_order_are_sorted():
    patterns = patterns_from_counts([5, 1, 3], [[1, 0, 2], [0, 0, 0]])

    assert content(patterns) == ([1, 3, 5], [[0, 2, 1]], [1])


def test_a_value_named_twice_in_a_row_is_counted_together():
    patterns = patterns_from_rows([({1: 1, "1.0": 2}, 1)])

    assert content(patterns) == ([1], [[3]], [1])


def test_pairable_keeps_units_with_two_ratings_and_the_values_in_them():
    patterns = patterns_from_counts([1, 2, 3, 4], [[1, 1, 0, 0], [0, 0, 1, 0], [0, 2, 0, 0]]).pairable()

    assert content(patterns) == ([1, 2], [[1, 1], [0, 2]], [1, 1])


def test_leaving_out_the_only_unit_of_a_pattern_removes_it():
    patterns = patterns_from_rows([({1: 1, 2: 1}, 2), ({2: 1, 3: 1}, 1)])

    assert content(patterns.without(0)) == ([1, 2, 3], [[1, 1, 0], [0, 1, 1]], [1, 1])
    assert content(patterns.without(1)) == ([1, 2], [[1, 1]], [2])


def test_unit_numbers_of_a_short_integer_type_do_not_wrap_around():
    names = np.arange(-100, 100, dtype=np.int8)

    patterns = patterns_from_long(np.tile(names, 2), np.repeat([1, 2], 200))

    assert content(patterns) == ([1, 2], [[1, 1]], [200])


def test_rows_that_differ_only_past_the_width_of_a_packed_key_stay_apart():
    # Nine columns of 16 bits each: in 64 bits alone the first column would be shifted out.
    rows = [[first] + [2**16 - 1] * 8 for first in (1, 2, 2**16 - 1, 2)]

    patterns = patterns_from_counts(range(9), rows)

    assert (patterns.counts[:, 0].tolist(), patterns.multiplicity.tolist()) == ([1, 2, 2**16 - 1], [1, 2, 1])


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "build",
    [
        lambda value: patterns_from_long([1, 1], [2.0, value]),
        lambda value: patterns_from_counts([1, value], [[1, 1]]),
        lambda value: patterns_from_rows([({1: 1, value: 1}, 1)]),
    ],
    ids=["long", "counts", "rows"],
)
def test_it_refuses_infinite_values_by_name(build, infinite):
    with pytest.raises(ValueError, match=rf"Rating values must be finite numbers; found {infinite}"):
        build(infinite)


@pytest.mark.parametrize("missing", [[1.0, float("nan")], ["a", None]])
def test_it_refuses_a_rating_without_a_unit(missing):
    with pytest.raises(ValueError, match="names no unit"):
        patterns_from_long(missing, [1, 2])


def test_it_refuses_columns_of_different_length():
    with pytest.raises(ValueError, match="columns of equal length"):
        patterns_from_long([1, 2, 3], [1, 2])


@pytest.mark.parametrize("count", [-1, 0.5, float("nan"), float("inf")])
def test_it_refuses_counts_that_are_not_whole_numbers(count):
    with pytest.raises(ValueError, match="Counts must be whole numbers"):
        patterns_from_counts([1, 2], [[1, count]])
    with pytest.raises(ValueError, match="Counts must be whole numbers"):
        patterns_from_rows([({1: 1, 2: count}, 1)])
    with pytest.raises(ValueError, match="Multiplicities must be whole numbers"):
        patterns_from_rows([({1: 1, 2: 1}, count)])


@pytest.mark.parametrize(
    ("values", "sentence"),
    [([1, 2, 3], "one column per value"), ([2, 2], "2 is there twice"), ([1, float("nan")], "not a number")],
)
def test_it_refuses_values_that_do_not_name_the_columns(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        patterns_from_counts(values, [[1, 1]])


def test_it_refuses_count_rows_of_a_value_that_is_not_a_number():
    with pytest.raises(ValueError, match="not a number"):
        patterns_from_rows([({None: 2, 1: 1}, 1)])
