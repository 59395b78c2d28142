"""The order in which candidates are shown: balanced, whatever happens in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.rules.presentation import balance_step, draw


def test_one_candidate_has_one_order():
    assert draw(1, balance=0, n_draws=5, seed=1) == [0]


@pytest.mark.parametrize(("balance", "expected"), [(1, [1, 0]), (7, [1, 0]), (-1, [0, 1]), (-7, [0, 1])])
def test_a_pair_is_shown_in_the_order_it_was_shown_less_often(balance, expected):
    assert draw(2, balance=balance, n_draws=3, seed=1) == expected


def test_an_even_pair_is_drawn_by_a_fair_coin():
    first = [draw(2, balance=0, n_draws=0, seed=seed) for seed in range(2000)]
    assert 900 < sum(order == [0, 1] for order in first) < 1100


def test_the_same_seed_and_state_draw_the_same_order():
    assert draw(2, balance=0, n_draws=4, seed=9) == draw(2, balance=0, n_draws=4, seed=9)
    assert draw(5, balance=0, n_draws=4, seed=9) == draw(5, balance=0, n_draws=4, seed=9)


@given(
    seed=st.integers(),
    overlap=st.integers(1, 12),
    leaving=st.lists(st.none() | st.integers(0, 11), max_size=60),
)
def test_a_pair_is_balanced_whenever_it_is_full(seed, overlap, leaving):
    """Leases are granted (None) and given back (by place) in any order; n free places leave n + 1 out of balance."""
    held: list[list[int]] = []
    for n_draws, place in enumerate(leaving):
        if place is None and len(held) < overlap:
            balance = sum(map(balance_step, held))
            held.append(draw(2, balance=balance, n_draws=n_draws, seed=seed))
        elif place is not None and place < len(held):
            held.pop(place)
        free = overlap - len(held)
        assert abs(held.count([0, 1]) - held.count([1, 0])) <= 1 + free


@given(n_candidates=st.integers(3, 26), seed=st.integers(), start=st.integers(0, 1000))
def test_over_any_n_draws_each_candidate_stands_at_each_position_once(n_candidates, seed, start):
    rows = [draw(n_candidates, balance=0, n_draws=start + turn, seed=seed) for turn in range(n_candidates)]
    for row in rows:
        assert sorted(row) == list(range(n_candidates))
    for column in zip(*rows, strict=True):
        assert sorted(column) == list(range(n_candidates))


@given(seed=st.integers())
def test_panels_of_different_tasks_rotate_through_different_rows(seed):
    rows = {tuple(draw(6, balance=0, n_draws=0, seed=seed + task)) for task in range(50)}
    assert len(rows) > 20


@pytest.mark.parametrize(("order", "step"), [([0, 1], 1), ([1, 0], -1), ([0], 0), ([2, 0, 1], 0), ([], 0)])
def test_only_pairs_have_a_balance(order, step):
    assert balance_step(order) == step
