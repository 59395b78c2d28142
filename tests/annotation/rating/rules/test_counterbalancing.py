"""The order in which candidates are shown: balanced, whatever happens in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.rating.rules.counterbalancing import candidate_labels, draw_order, order_balance_step


@pytest.mark.parametrize(("balance", "expected"), [(1, [1, 0]), (7, [1, 0]), (-1, [0, 1]), (-7, [0, 1])])
def test_a_pair_is_shown_in_the_order_it_was_shown_less_often(balance, expected):
    assert draw_order(2, layout="comparison", balance=balance, n_draws=3, seed=1) == expected


@pytest.mark.parametrize(("n", "layout"), [(1, "rating"), (2, "comparison"), (5, "panel")])
def test_the_same_seed_and_state_draw_the_same_order(n, layout):
    first, second = (draw_order(n, layout=layout, balance=0, n_draws=4, seed=9) for _ in range(2))
    assert first == second
    assert sorted(first) == list(range(n))


def test_an_even_pair_is_drawn_by_a_fair_coin():
    first = [draw_order(2, layout="comparison", balance=0, n_draws=0, seed=seed) for seed in range(2000)]
    assert 900 < sum(order == [0, 1] for order in first) < 1100


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
            balance = sum(map(order_balance_step, held))
            held.append(draw_order(2, layout="comparison", balance=balance, n_draws=n_draws, seed=seed))
        elif place is not None and place < len(held):
            held.pop(place)
        free = overlap - len(held)
        assert abs(held.count([0, 1]) - held.count([1, 0])) <= 1 + free


@given(n_candidates=st.integers(3, 26), seed=st.integers(), start=st.integers(0, 1000))
def test_over_any_n_draws_each_candidate_stands_at_each_position_once(n_candidates, seed, start):
    rows = [
        draw_order(n_candidates, layout="panel", balance=0, n_draws=start + turn, seed=seed)
        for turn in range(n_candidates)
    ]
    for row in rows:
        assert sorted(row) == list(range(n_candidates))
    for column in zip(*rows, strict=True):
        assert sorted(column) == list(range(n_candidates))


@given(seed=st.integers())
def test_panels_of_different_tasks_rotate_through_different_rows(seed):
    rows = {
        tuple(draw_order(6, layout="panel", balance=0, n_draws=0, seed=seed + task)) for task in range(50)
    }
    assert len(rows) > 20


@pytest.mark.parametrize(
    ("order", "step"), [([0, 1], 1), ([1, 0], -1), ([0], 0), ([2, 0, 1], 0), ([1, 0, 1], 0), ([], 0)]
)
def test_only_pairs_have_a_balance(order, step):
    assert order_balance_step(order) == step


def draw_abx(*, n_draws: int, seed: int) -> list[int]:
    return draw_order(2, layout="abx", balance=0, n_draws=n_draws, seed=seed)


@given(seed=st.integers(), block=st.integers(0, 1000))
def test_every_four_draws_of_an_abx_test_show_each_order_with_each_answer_and_two_differ_in_both(seed, block):
    shown = [tuple(draw_abx(n_draws=4 * block + turn, seed=seed)) for turn in range(4)]
    assert sorted(shown) == [(0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]
    first, second = shown[:2]
    assert first[0] != second[0]
    assert (first[2] == first[0]) != (second[2] == second[0])


def test_what_x_is_cannot_be_told_from_the_draws_before():
    """Whether X is A, in the fifth draw, beside the same in the four before: no history foretells it."""
    told: dict[tuple[bool, ...], list[bool]] = {}
    for seed in range(4000):
        is_a = [x == a for a, _, x in (draw_abx(n_draws=n, seed=seed) for n in range(5))]
        told.setdefault(tuple(is_a[:4]), []).append(is_a[4])
    for answers in told.values():
        assert 0.4 < sum(answers) / len(answers) < 0.6


def test_the_third_of_an_abx_test_is_called_x():
    assert list(zip(candidate_labels("abx"), draw_abx(n_draws=0, seed=3), strict=True))[2][0] == "X"
    assert candidate_labels("panel")[:3] == candidate_labels("comparison")[:3] == "ABC"
