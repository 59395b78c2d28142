"""Student's t, few clusters, exact binomial tests, shares of votes, two-way clustering, resampling; and bins."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics import bootstrap
from analytics.statistics.bins import bin_count, binned_means, equal_count_bins, rating_bins
from analytics.statistics.bootstrap import Resampling, estimate, number_clusters, weighted_mean
from analytics.statistics.intervals import (
    NO_RATINGS,
    NO_SPREAD,
    ONE_CLUSTER,
    SENTENCES,
    Share,
    clustered_share,
    expanded_percentiles,
    one_sided_binomial_p,
    t_quantile,
    two_sided_t_p,
    two_way_standard_error,
    wilson_interval,
)
from analytics.statistics.ranking.position_bias import position_bias


@pytest.mark.parametrize(
    ("df", "upper_95", "upper_99"),
    [  # two-sided 95 % and 99 % points as printed in tables of the t distribution
        (1, 12.706, 63.657),
        (2, 4.303, 9.925),
        (3, 3.182, 5.841),
        (4, 2.776, 4.604),
        (5, 2.571, 4.032),
        (10, 2.228, 3.169),
        (20, 2.086, 2.845),
        (30, 2.042, 2.750),
        (60, 2.000, 2.660),
        (120, 1.980, 2.617),
    ],
)
def test_it_agrees_with_printed_tables(df, upper_95, upper_99):
    assert t_quantile(0.975, df=df) == pytest.approx(upper_95, abs=5e-4)
    assert t_quantile(0.995, df=df) == pytest.approx(upper_99, abs=5e-4)


@pytest.mark.parametrize("p", [0.5, 0.6, 0.9, 0.975, 0.995, 0.9999])
def test_it_equals_the_closed_forms_for_one_and_two_degrees_of_freedom(p):
    assert t_quantile(p, df=1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-11, abs=1e-15)
    assert t_quantile(p, df=2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-11)


@pytest.mark.parametrize("df", [3, 4, 17, 2000, 2001, 10**6])
def test_it_is_symmetric(df):
    assert t_quantile(0.025, df=df) == pytest.approx(-t_quantile(0.975, df=df), rel=1e-12)


def test_the_two_methods_meet_without_a_step():
    below, first, second = (t_quantile(0.975, df=df) for df in (2000, 2001, 2002))

    assert below - 2 * first + second == pytest.approx(0, abs=1e-9)


def test_it_approaches_the_normal_quantile():
    assert t_quantile(0.975, df=10**9) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-8)


@pytest.mark.parametrize(("p", "df"), [(0, 5), (1, 5), (float("nan"), 5), (0.975, 0)])
def test_it_refuses_what_has_no_quantile(p, df):
    with pytest.raises(ValueError, match="Needs a probability between 0 and 1"):
        t_quantile(p, df=df)


@pytest.mark.parametrize("clusters", [5, 12, 80])
def test_a_normal_mean_gets_the_interval_of_students_t(clusters):
    """Its bootstrap is normal with a variance of (G - 1) / G of what it should be."""
    below, above = expanded_percentiles(0.95, clusters)
    drawn = NormalDist(0, math.sqrt((clusters - 1) / clusters))
    assert drawn.inv_cdf(above) == pytest.approx(t_quantile(0.975, df=clusters - 1), rel=1e-9)
    assert below == pytest.approx(1 - above)


def test_many_clusters_need_nothing_made_up_for():
    assert expanded_percentiles(0.9, 100_000) == pytest.approx((0.05, 0.95), abs=1e-5)


@pytest.mark.parametrize("raters", [5, 9])
def test_without_bias_the_interval_rarely_leaves_out_one_half(raters):
    rng, found = np.random.default_rng(raters), []
    for _ in range(250):
        first = rng.random(raters * 100) < 0.5
        by = np.repeat(np.arange(raters), 100)
        found.append(position_bias(first, clusters=by, resampling=Resampling(replicates=200)).first.interval)
    assert np.mean([low <= 0.5 <= high for low, high in found]) > 0.89


@pytest.mark.parametrize("raters", [2, 4])
def test_fewer_than_five_give_no_interval_and_say_so(raters):
    by = np.repeat(np.arange(raters), 10)
    found = position_bias(by + np.arange(len(by)) % 3 > 1, clusters=by, resampling=Resampling(replicates=20))
    assert (found.first.interval, found.first.reason) == (None, "few_clusters")
    with pytest.raises(ValueError, match="5 clusters or more"):
        expanded_percentiles(0.95, raters)


@pytest.mark.parametrize(
    ("correct", "n", "chance"),
    [
        # The tables printed with ABX tests: 12 of 16 is the usual mark of 95 %.
        (12, 16, 0.0384),
        (11, 16, 0.1051),
        (9, 10, 0.0107),
        (5, 5, 0.03125),
        (0, 7, 1.0),
        (1, 1, 0.5),
    ],
)
def test_published_chances_of_guessing(correct, n, chance):
    assert one_sided_binomial_p(correct, n) == pytest.approx(chance, abs=5e-5)


@given(n=st.integers(1, 200), data=st.data())
def test_it_is_the_sum_of_the_exact_terms(n, data):
    correct = data.draw(st.integers(0, n))
    assert one_sided_binomial_p(correct, n) == float(
        Fraction(sum(comb(n, k) for k in range(correct, n + 1)), 2**n)
    )


def test_it_does_not_drown_in_many_answers():
    assert one_sided_binomial_p(10_000, 20_000) == pytest.approx(0.5028, abs=1e-4)
    assert one_sided_binomial_p(20_000, 20_000) == 0.0  # smaller than any float


def test_nothing_answered_has_no_chance():
    assert one_sided_binomial_p(0, 0) is None


@pytest.mark.parametrize(("correct", "n"), [(3, 2), (-1, 2)])
def test_more_right_than_asked_is_refused(correct, n):
    with pytest.raises(ValueError, match="cannot be right"):
        one_sided_binomial_p(correct, n)


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


def of_mean(value, item, rater=None):
    value = np.asarray(value, dtype=float)
    scores = (value - value.mean()) / len(value)
    return two_way_standard_error(
        scores, items=np.asarray(item), raters=None if rater is None else np.asarray(rater)
    )


def test_independent_ratings_have_the_textbook_interval():
    value = np.array([1.0, 2, 2, 5, 3, 4])
    found = of_mean(value, np.arange(6))
    assert found.se == pytest.approx(stats.sem(value))
    low, high = stats.t.interval(0.9, 5, value.mean(), stats.sem(value))
    assert found.half_width(0.9) == pytest.approx((high - low) / 2)
    assert two_sided_t_p(value.mean(), found) == pytest.approx(stats.ttest_1samp(value, 0).pvalue)


def test_variances_of_raters_items_and_cells_are_put_together():
    rng = np.random.default_rng(5)
    item, rater = rng.integers(0, 9, 60), rng.integers(0, 5, 60)
    value = rng.normal(size=9)[item] + rng.normal(size=5)[rater] + 0.3 * rng.normal(size=60)
    residual = value - value.mean()

    def between(labels: list) -> float:
        groups = set(labels)
        sums = [sum(r for r, one in zip(residual, labels, strict=True) if one == group) for group in groups]
        return len(groups) / (len(groups) - 1) * sum(total**2 for total in sums) / 60**2

    cells = list(zip(item.tolist(), rater.tolist(), strict=True))
    expected = between(item.tolist()) + between(rater.tolist()) - between(cells)
    found = of_mean(value, item, rater)
    assert found.se == pytest.approx(np.sqrt(expected))
    assert (found.df, found.raters, found.items) == (4, 5, 9)


def test_the_variance_is_never_below_that_of_either_way_alone():
    # Both raters rate the same on average, so less the cells' variance there would be less than between items.
    value, item, rater = [1, 5, 5, 1, 2, 4], [0, 1, 0, 1, 2, 3], [0, 0, 1, 1, 0, 0]
    assert of_mean(value, item, rater).se == pytest.approx(of_mean(value, item).se)


def test_intervals_cover_the_truth_where_ratings_taken_for_independent_do_not():
    rng, covered, naive, runs = np.random.default_rng(2), 0, 0, 300
    item = np.repeat(np.arange(40), 3)
    for _ in range(runs):
        rater = np.argsort(rng.random((40, 15)), axis=1)[:, :3].ravel()
        value = rng.normal(0, 0.8, 40)[item] + rng.normal(0, 0.5, 15)[rater] + rng.normal(0, 0.7, 120)
        covered += abs(value.mean()) <= of_mean(value, item, rater).half_width(0.95)
        naive += abs(value.mean()) <= of_mean(value, np.arange(120)).half_width(0.95)
    assert 0.92 < covered / runs <= 1
    assert naive / runs < 0.85


@pytest.mark.parametrize(
    ("value", "item", "rater", "reason"),
    [
        ([], [], None, NO_RATINGS),
        ([1, 5], [0, 0], None, ONE_CLUSTER),
        ([1, 5], [0, 0], [0, 0], ONE_CLUSTER),
        ([1, 5, 5, 1], [0, 0, 1, 1], None, NO_SPREAD),
    ],
)
def test_what_cannot_be_told_has_a_reason(value, item, rater, reason):
    found = two_way_standard_error(
        np.asarray(value, float) - (np.mean(value) if value else 0),
        items=np.asarray(item, dtype=np.int64),
        raters=None if rater is None else np.asarray(rater),
    )
    assert (found.se, found.reason, found.half_width(0.95), two_sided_t_p(1.0, found)) == (
        None,
        reason,
        None,
        None,
    )


def test_one_rater_leaves_the_items_and_one_item_the_raters():
    by_items, by_raters = of_mean([1, 2, 4], [0, 1, 2], [0, 0, 0]), of_mean([1, 2, 4], [0, 0, 0], [0, 1, 2])
    assert (by_items.by_raters, by_items.df) == (False, 2)
    assert (by_raters.by_raters, by_raters.df) == (True, 2)


# Intervals: seeded, as wide as theory says, honest about resamples without a figure.


def interval(values, clusters=None, **resampling):
    groups = number_clusters(clusters, n=len(values))
    return estimate(weighted_mean(np.array(values, float)), groups, resampling=Resampling(**resampling))


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(1).random(50)
    assert interval(values, seed=4) == interval(values, seed=4)
    assert interval(values, seed=4).interval != interval(values, seed=5).interval


def test_the_interval_of_a_share_is_as_wide_as_the_binomial_says():
    found = interval([1] * 150 + [0] * 250, replicates=4000)
    half = 1.96 * np.sqrt(0.375 * 0.625 / 400)
    assert found.value == pytest.approx(0.375)
    assert found.interval == pytest.approx((0.375 - half, 0.375 + half), abs=0.006)


def test_copies_of_an_item_in_its_cluster_tell_nothing_new():
    values = [1] * 15 + [0] * 25
    once = interval(values, replicates=500)
    copied = interval(values * 3, list(range(40)) * 3, replicates=500)
    assert (copied.n, copied.clusters) == (120, 40)
    assert copied.interval == pytest.approx(once.interval)


def test_many_items_are_resampled_a_few_at_a_time(monkeypatch):
    values = np.random.default_rng(1).random(30)
    whole = interval(values, replicates=20)
    monkeypatch.setattr(bootstrap, "_CELLS", 90)
    parts = interval(values, replicates=20)
    assert parts.replicates == 20
    assert parts.interval == pytest.approx(whole.interval, abs=0.1)


def test_no_interval_where_most_resamples_have_no_figure():
    def rarely(weights):
        return np.where(np.arange(len(weights)) == 0, 1.0, np.nan)

    found = estimate(rarely, np.arange(5), resampling=Resampling(replicates=10))
    assert (found.value, found.interval, found.reason) == (1.0, None, "mostly_undefined")
    assert found.degenerate == 9


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"level": 0.0}, {"replicates": 0}])
def test_it_refuses_levels_and_counts_that_mean_nothing(wrong):
    with pytest.raises(ValueError, match="level between"):
        Resampling(**wrong)


def test_every_item_needs_a_cluster():
    with pytest.raises(ValueError, match="3 items but 2 clusters"):
        number_clusters(["a", "b"], n=3)


# Bins of equal counts and of rating scales, and means within bins.


def test_distinct_values_are_dealt_out_evenly():
    assert equal_count_bins(np.array([9.0, 1, 5, 3, 7, 2]), bins=3).tolist() == [2, 0, 1, 1, 2, 0]


def test_equal_values_share_a_bin_in_any_order():
    values = np.array([1.0] * 7 + [2, 3, 4])
    found = equal_count_bins(values, bins=5)
    assert len(set(found[:7])) == 1
    order = np.random.default_rng(0).permutation(10)
    assert equal_count_bins(values[order], bins=5).tolist() == found[order].tolist()


def test_bins_have_no_gaps_and_none_are_made_of_nothing():
    assert equal_count_bins(np.array([4.0, 4, 4]), bins=10).tolist() == [0, 0, 0]
    assert equal_count_bins(np.zeros(0), bins=3).tolist() == []
    with pytest.raises(ValueError, match="one bin"):
        equal_count_bins(np.ones(2), bins=0)


def test_a_binned_mean_is_that_of_its_items_and_resamples_their_clusters():
    x, y = [1, 2, 3, 4, np.nan, 6], [0, 1, 1, 1, 5, np.inf]
    x, y = [*x] * 5, [*y] * 5
    low, high = binned_means(
        x, y, most_bins=2, clusters=list("aabbcc") * 5, resampling=Resampling(replicates=50)
    )
    assert (low.x, low.lowest, low.highest, low.mean.value, low.n) == (1.5, 1, 2, 0.5, 10)
    assert (low.mean.interval, low.mean.reason) == (None, "one_cluster")
    assert (high.mean.value, high.mean.clusters) == (1.0, 1)


def test_an_interval_of_a_bin_is_the_clusters_own():
    (only,) = binned_means(
        [1] * 40,
        [0, 1] * 20,
        most_bins=4,
        clusters=[n // 2 for n in range(40)],
        resampling=Resampling(replicates=50),
    )
    # Each cluster holds a 0 and a 1, so that no resample differs.
    assert only.mean.interval == (0.5, 0.5)


def test_few_items_make_few_bins():
    assert [bin_count(n, most=6) for n in (0, 9, 25, 59, 60, 1000)] == [1, 1, 2, 5, 6, 6]


def test_points_are_shown_whether_or_not_they_were_given():
    found = rating_bins(np.array([5.0, 1.0]), points=(1.0, 2.0, 5.0), ends=(1.0, 5.0))
    assert (found.labels, found.ranges) == (("1", "2", "5"), False)
    assert found.counts(np.array([5.0, 5.0, 1.0])).tolist() == [1, 0, 2]


def test_few_values_of_a_continuous_scale_are_shown_one_by_one():
    assert rating_bins(np.array([2.5, 7.0, 2.5]), points=(), ends=(0.0, 10.0)).labels == ("2.5", "7")


def test_mushra_has_its_five_ranges_and_other_scales_ten():
    value = np.linspace(0, 100, 50)
    found = rating_bins(value, points=(), ends=(0.0, 100.0))
    assert found.labels == ("0–20", "20–40", "40–60", "60–80", "80–100")
    assert found.counts(np.array([0.0, 20, 100])).tolist() == [1, 1, 0, 0, 1]
    assert len(rating_bins(value / 10, points=(), ends=(0.0, 10.0)).labels) == 10


def test_without_ends_ranges_reach_as_far_as_the_ratings():
    found = rating_bins(np.linspace(-3, 7, 40), points=(), ends=None)
    assert (found.labels[0], found.labels[-1]) == ("-3–-2", "6–7")


def test_nothing_and_one_value_are_defined():
    assert rating_bins(np.zeros(0), points=(), ends=None).labels == ()
    assert rating_bins(np.array([3.0, 3.0]), points=(), ends=None).counts(np.array([3.0, 3.0])).tolist() == [
        2
    ]
