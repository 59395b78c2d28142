"""Shares with intervals: against the resampling spelled out, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import (
    SENTENCES,
    Share,
    clustered_share,
    expanded_percentiles,
    wilson_interval,
)

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=30)


def share(hits, clusters, *, replicates: int = 50) -> Share:
    return clustered_share(
        hits, np.ones(len(hits)), clusters=clusters, resampling=Resampling(replicates=replicates)
    )


def test_without_clusters_the_interval_is_wilsons():
    found = share([1, 1, 0, 1, 1], None)
    assert (found.hits, found.n, found.value) == (4, 5, 0.8)
    assert found.interval == wilson_interval(4, 5, level=0.95)


def test_whole_clusters_are_drawn():
    hits, clusters = [1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1], [9, 9, 9, 4, 4, 7, 7, 2, 5, 5, 5]
    by_cluster = {9: (3, 3), 4: (0, 2), 7: (1, 2), 2: (1, 1), 5: (2, 3)}
    rng, drawn = np.random.default_rng(1), []
    for _ in range(5_000):
        chosen = [by_cluster[c] for c in rng.choice([9, 4, 7, 2, 5], size=5)]
        drawn.append(sum(hit for hit, _ in chosen) / sum(n for _, n in chosen))
    found = share(hits, clusters, replicates=5_000)
    assert found.clusters == 5
    assert found.interval == pytest.approx(np.quantile(drawn, expanded_percentiles(0.95, 5)), abs=0.05)


def test_rows_may_stand_for_several_votes():
    apart = share([1, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 2])
    together = clustered_share([2, 2, 0], [3, 2, 1], clusters=[0, 1, 2], resampling=Resampling(replicates=50))
    assert together == apart


@settings(max_examples=30, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(rows, shuffle):
    mixed = shuffle.sample(rows, len(rows))
    assert share(*zip(*mixed, strict=True)) == share(*zip(*rows, strict=True))


@settings(max_examples=30, deadline=None)
@given(rows)
def test_the_same_votes_twice_change_nothing_but_their_number(rows):
    hits, clusters = zip(*rows, strict=True)
    once, twice = share(hits, clusters), share(hits * 2, clusters * 2)
    assert (twice.value, twice.interval, twice.reason) == (once.value, once.interval, once.reason)


@pytest.mark.parametrize(
    ("hits", "clusters", "reason"),
    [
        ([], [], "no_votes"),
        ([1, 0], [3, 3], "one_cluster"),
        ([1, 1, 1], [0, 1, 2], "all_alike"),
        ([1, 0, 0, 0], [0, 1, 2, 3], "few_clusters"),
    ],
)
def test_what_has_no_interval_says_why(hits, clusters, reason):
    found = share(hits, clusters)
    assert (found.interval, found.reason) == (None, reason)
    assert reason in SENTENCES
