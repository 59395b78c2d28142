"""Draws by a policy: that stored chances are those with which tasks come, and what they are good for."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.rating.rules import ordering
from annotation.rating.rules.ordering import (
    START_OF_LIST,
    WINDOW,
    Coin,
    Ordering,
    TasksBehind,
    draw_coins,
    inclusion_probability,
    shuffle_key,
    uniform_probability,
)

WANTED = ordering.as_json({})


def keys_of(n: int, seed: int = 0) -> list[float]:
    return sorted(np.random.default_rng(seed).random(n).tolist())


def behind(keys: Sequence[float], place: int) -> TasksBehind:
    """What lies behind a key, as the database tells it."""
    before = [key for key in keys if key < keys[place]][::-1][:WINDOW]
    beyond = [key for key in keys if key >= keys[place]][::-1][: WINDOW - len(before)]
    return TasksBehind(len(before), min(before, default=None), len(beyond), min(beyond, default=None))


def any_task(keys: Sequence[float], place: float, within: float) -> int:
    """The draw of any task, by the definition: of those that come next round the circle, one."""
    ahead = [n for n, key in enumerate(keys) if key > place] + [
        n for n, key in enumerate(keys) if key <= place
    ]
    window = ahead[:WINDOW]
    return window[int(within * len(window))]


@pytest.mark.parametrize("n", [1, 2, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, 200])
def test_the_chances_of_all_tasks_add_up_to_one_and_are_the_same_of_few(n):
    keys = keys_of(n)
    chances = [uniform_probability(keys[k], behind(keys, k)) for k in range(n)]
    assert math.fsum(chances) == pytest.approx(1, abs=1e-12)
    assert n > WINDOW or chances == pytest.approx([1 / n] * n, rel=1e-12)


def test_of_many_tasks_the_chances_differ_little():
    keys = keys_of(2000, seed=5)
    found = np.array([uniform_probability(keys[k], behind(keys, k)) for k in range(len(keys))]) * len(keys)
    assert (found.min() > 0.4, found.max() < 2.0) == (True, True)
    # Weights by the inverse cost a thirtieth of the votes, not more: the mean of WINDOW exponential gaps.
    assert np.mean(1 / found) < 1 + 2 / WINDOW


def simulated(
    keys: Sequence[float], first: Sequence[int], policy: Ordering, *, n: int, seed: int
) -> list[int]:
    """Which task each of n draws takes, with an assignment's own numbers."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        coin = draw_coins(seed, uuid.UUID(bytes=random.bytes(16)))[0]
        if coin.is_uniform(policy):
            found.append(any_task(keys, coin.place, coin.within(policy)))
        else:
            found.append(first[int(coin.place * len(first))])
    return found


@pytest.fixture(scope="module")
def drawn():
    keys, policy = keys_of(60, seed=2), Ordering(uniform=0.3, among=6)
    first = [3, 9, 27, 28, 40, 59]
    times = simulated(keys, first, policy, n=12_000, seed=11)
    chances = [
        inclusion_probability(
            policy, n_first=6, is_first=k in first, uniform=uniform_probability(keys[k], behind(keys, k))
        )
        for k in range(60)
    ]
    return np.array(times), np.array(chances)


def test_tasks_come_as_often_as_their_chances_say(drawn):
    times, chances = drawn
    expected = chances * len(times)
    surprise = ((np.bincount(times, minlength=60) - expected) ** 2 / expected).sum()
    assert surprise < 109  # chi-squared with 59 degrees of freedom: one in ten thousand is above


def test_votes_that_count_by_the_inverse_of_their_chance_give_the_mean_over_all_tasks(drawn):
    times, chances = drawn
    # What is asked about differs most on the tasks that come first.
    truth = np.linspace(0, 1, 60) + 2 * (chances > 0.05)
    weights = 1 / chances[times]
    estimates = truth[times] * weights / 60
    error = estimates.std() / math.sqrt(len(times))
    assert estimates.mean() == pytest.approx(truth.mean(), abs=4 * error)
    assert np.average(truth[times], weights=weights) == pytest.approx(truth.mean(), abs=0.05)
    assert abs(truth[times].mean() - truth.mean()) > 1  # unweighted it is the mean of what was asked most


def test_where_none_of_the_first_may_be_given_every_draw_is_of_any_task():
    assert inclusion_probability(Ordering(uniform=0.2), n_first=0, is_first=False, uniform=0.01) == 0.01


def test_a_draw_follows_from_the_seed_and_the_assignment_alone():
    one = uuid.UUID(int=1)
    assert draw_coins(7, one) == draw_coins(7, one)
    assert (
        len({*draw_coins(7, one), *draw_coins(8, one), *draw_coins(7, uuid.UUID(int=2))})
        == 3 * ordering.ATTEMPTS
    )
    assert all(0 <= number < 1 for coin in draw_coins(7, one) for number in (coin.kind, coin.place))


def test_the_number_within_is_even_whatever_the_kind():
    policy = Ordering(uniform=0.25)
    within = [Coin(kind, 0.0).within(policy) for kind in (0.0, 0.125, math.nextafter(0.25, 0), 0.25, 0.625)]
    assert within == [0.0, 0.5, pytest.approx(1), 0.0, 0.5]
    assert max(within) < 1


def test_a_study_without_settings_has_a_plain_order():
    assert ordering.settings({}) is ordering.settings({"ordering": {}}) is None
    assert ordering.as_json({})["on"] is False


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("uniform", 0.19, "0.2"),
        ("uniform", 1.1, "0.2 to 1"),
        ("uniform", True, "number"),
        ("uniform", math.nan, "number"),
        ("among", 3, "from 4"),
        ("among", 16.0, "whole"),
        ("among", 1001, "1000"),
        ("uncertainty", -1, "0 to 100"),
        ("coverage", "much", "number"),
        ("scorer", "x" * 81, "80"),
        ("scorer", None, "name"),
        ("extra", 1, "no such setting"),
    ],
)
def test_a_fault_is_told_at_its_field(field, value, told):
    wanted = {name: value for name, value in WANTED.items() if name != "on"}
    assert ordering.validate_ordering(wanted) == []
    found = ordering.validate_ordering({**wanted, field: value})
    assert [fault.field for fault in found] == [field]
    assert told in found[0].message


def test_something_has_to_weigh():
    nothing = {"uniform": 0.2, "among": 16, "scorer": "", **dict.fromkeys(ordering.WEIGHTS, 0)}
    assert [fault.field for fault in ordering.validate_ordering(nothing)] == ["uncertainty"]


@given(seed=st.integers(), name=st.text())
def test_a_place_is_in_the_unit_interval_always_the_same_and_after_the_start_of_a_list(seed, name):
    assert START_OF_LIST < 0 <= shuffle_key(seed, name) < 1
    assert shuffle_key(seed, name) == shuffle_key(seed, name)


def test_a_place_is_what_it_was_when_the_study_was_first_imported():
    """A later version that computed another key would shuffle running studies anew."""
    assert shuffle_key(7, "item-1") == 0.03918046510355714


def test_seeds_shuffle_differently_and_spread_places_evenly():
    names = [f"item-{n}" for n in range(50)]
    orders = {tuple(sorted(names, key=lambda name: shuffle_key(seed, name))) for seed in range(5)}
    assert len(orders) == 5
    keys = [shuffle_key(3, f"item-{n}") for n in range(10_000)]
    for tenth in range(10):
        assert 900 < sum(tenth / 10 <= key < (tenth + 1) / 10 for key in keys) < 1100
