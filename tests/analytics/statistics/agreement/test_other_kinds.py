"""Agreement of rankings, sets and events, against published values and independent implementations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from analytics.statistics.agreement.concordance import concordances, kendall_w
from analytics.statistics.agreement.event_matching import matched_events, n_matches
from analytics.statistics.agreement.set_agreement import masi, set_agreement


def test_kendalls_w_is_friedmans_chi_square_over_its_greatest_value():
    rng = np.random.default_rng(3)
    for m, n in ((3, 4), (2, 5), (9, 3)):
        ranks = np.array([rng.permutation(n) + 1.0 for _ in range(m)])
        friedman = stats.friedmanchisquare(*ranks.T).statistic if n > 2 else None
        assert kendall_w(ranks) == pytest.approx(friedman / (m * (n - 1)))


def test_kendalls_w_by_hand():
    # Rank sums 8, 14, 11, 9, 13, 8 about 10.5: S = 33.5, W = 12 * 33.5 / (9 * 210).
    ranks = np.array([[1, 6, 3, 2, 5, 4], [1, 5, 6, 2, 4, 3], [6, 3, 2, 5, 4, 1]], dtype=float)
    assert kendall_w(ranks) == pytest.approx(0.2126984)
    assert kendall_w(np.array([[1.0, 2, 3]] * 4)) == 1.0
    assert kendall_w(np.array([[1.0, 2], [2, 1]])) == 0.0
    assert kendall_w(np.array([[1.0, 2, 3]])) is None


def test_concordance_is_of_each_task_and_leaves_out_rankings_that_lack_something():
    rows = [(0, 1, t, p) for t, p in enumerate([1, 2, 3])] + [(0, 2, t, p) for t, p in enumerate([1, 2, 3])]
    rows += [(0, 3, 0, 1), (1, 4, 7, 1), (1, 4, 8, 2)]
    group, ranking, thing, place = np.array(rows).T
    assert concordances(group, ranking, thing, place.astype(float)) == [(0, 1.0)]


def test_as_many_events_are_matched_as_can_be():
    rng = np.random.default_rng(5)
    for _ in range(60):
        one, other = (np.round(rng.uniform(0, 4, rng.integers(0, 9)), 2) for _ in range(2))
        near = np.abs(one[:, None] - other[None, :]) <= 0.5 + 1e-9
        best = 0
        if near.size:
            best = int((maximum_bipartite_matching(csr_matrix(near), perm_type="column") >= 0).sum())
        assert n_matches(one.tolist(), other.tolist(), tolerance=0.5) == best


def test_f1_of_events_pools_pairs_of_raters_on_a_clip():
    # As mir_eval's onset F-measure: two of three and of two events within the tolerance, 2 * 2 / (3 + 2).
    clips = [[{"noise": [0.1, 1.0, 2.0]}, {"noise": [0.15, 1.04]}], [{}, {}], [{"noise": [1.0]}]]
    found = matched_events(clips, tolerance=0.05)
    assert (found.f1, found.pairs, found.both_empty) == (pytest.approx(0.8), 2, 1)
    assert matched_events([[{"a": [1]}, {"b": [1]}]], tolerance=1).f1 == 0
    assert matched_events([[{}, {}]], tolerance=1).f1 is None


def test_masi_weighs_overlap_by_how_sets_hold_each_other():
    # Passonneau (2006): {a, b} and {a, b, c}: 2/3 * 2/3; {a, b} and {b, c}: 1/3 * 1/3.
    assert masi(frozenset({1, 2}), frozenset({1, 2, 3})) == pytest.approx(4 / 9)
    assert masi(frozenset({1, 2}), frozenset({2, 3})) == pytest.approx(1 / 9)
    assert (masi(frozenset(), frozenset()), masi(frozenset({1}), frozenset())) == (1.0, 0.0)
    three = [frozenset({1}), frozenset({1}), frozenset({2})]
    assert set_agreement([three]).equal == pytest.approx(1 / 3)
    assert set_agreement([three[:1]]).masi is None
