"""Places in the queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.rating.rules.ordering import START_OF_LIST, shuffle_key


@given(seed=st.integers(), name=st.text())
def test_a_place_is_in_the_unit_interval_and_always_the_same(seed, name):
    assert 0 <= shuffle_key(seed, name) < 1
    assert shuffle_key(seed, name) == shuffle_key(seed, name)


def test_a_place_is_what_it_was_when_the_study_was_first_imported():
    """A later version that computed another key would shuffle running studies anew."""
    assert shuffle_key(7, "item-1") == 0.03918046510355714


def test_seeds_shuffle_differently():
    names = [f"item-{n}" for n in range(50)]
    orders = {tuple(sorted(names, key=lambda name: shuffle_key(seed, name))) for seed in range(5)}
    assert len(orders) == 5


def test_places_are_spread_evenly():
    keys = [shuffle_key(3, f"item-{n}") for n in range(10_000)]
    for tenth in range(10):
        assert 900 < sum(tenth / 10 <= key < (tenth + 1) / 10 for key in keys) < 1100


@given(seed=st.integers(), name=st.text())
def test_every_place_comes_after_the_start_of_a_list(seed, name):
    assert shuffle_key(seed, name) > START_OF_LIST
