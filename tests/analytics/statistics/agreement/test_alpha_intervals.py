"""Intervals of alpha other than the jackknife: resampling brought down to what alpha needs, and what it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.statistics.agreement import disagreement
from analytics.statistics.agreement.alpha import (
    INTERVAL_CAVEATS,
    INTERVAL_METHODS,
    LEVELS,
    IntervalSettings,
    jackknife_standard_error,
    krippendorff_alpha,
    leave_one_unit_out_alphas,
    symmetric_alpha,
)
from analytics.statistics.agreement.patterns import Patterns, patterns_from_long, patterns_from_rows
from analytics.statistics.bootstrap import Resampling
from tests.analytics.statistics.agreement.test_published_alpha import HAYES

units = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=4), min_size=2, max_size=8)
weights = st.lists(st.integers(0, 3), min_size=8, max_size=8)


def of(*ratings: list[float], clusters: list[object] | None = None) -> Patterns:
    numbers = [number for number, given in enumerate(ratings) for _ in given]
    told = None if clusters is None else [clusters[number] for number in numbers]
    return patterns_from_long(numbers, [value for given in ratings for value in given], clusters=told)


def settings(method: str, *, replicates: int = 400, seed: int = 0, level: float = 0.95) -> IntervalSettings:
    return IntervalSettings(method, Resampling(seed=seed, level=level, replicates=replicates))


def simulated(seed: int, *, number: int = 30, raters: int = 3, agree: float = 0.9) -> Patterns:
    random = np.random.default_rng(seed)
    ratings = np.where(
        random.random((raters, number)) < agree,
        random.integers(0, 4, number),
        random.integers(0, 4, (raters, number)),
    )
    return patterns_from_long(np.tile(np.arange(number), raters), ratings.ravel())


@given(units, weights, st.sampled_from(LEVELS))
def test_a_replicate_by_sums_is_alpha_of_the_units_drawn(ratings, drawn, level):
    patterns = of(*ratings)
    times = np.array(drawn[: len(patterns.multiplicity)])
    assume(times.any())

    (by_sums,) = disagreement.alphas_from_sums(
        times[None, :] @ disagreement.unit_sums(patterns.counts), patterns.values, level=level
    )

    rows = [
        (dict(zip(patterns.values, row, strict=True)), n)
        for row, n in zip(patterns.counts, times, strict=True)
    ]
    afresh = krippendorff_alpha(patterns_from_rows(rows), level=level).alpha
    assert np.isnan(by_sums) if afresh is None else by_sums == pytest.approx(afresh, abs=1e-12)


def test_krippendorffs_own_interval_is_the_published_one():
    """KALPHA gives [.7078, .8078] (Hayes & Krippendorff 2007), from 10,000 draws."""
    found = krippendorff_alpha(HAYES, level="ordinal", interval=settings("krippendorff", replicates=20_000))

    assert found.ci == pytest.approx((0.7078, 0.8078), abs=1.5e-3)
    assert "KALPHA" in INTERVAL_CAVEATS[found.ci_method]


def test_drawing_units_anew_is_as_uncertain_as_published_for_units():
    """4,000 explicit resamples of these units through the krippendorff package give [.623, .842]."""
    found = krippendorff_alpha(HAYES, level="ordinal", interval=settings("units", replicates=4000))

    assert found.ci == pytest.approx((0.623, 0.842), abs=8e-3)
    assert (found.ci_method, found.replicates, found.degenerate) == ("bootstrap-units", 4000, 0)
    assert found.ci_method not in INTERVAL_CAVEATS


@pytest.mark.parametrize("method", INTERVAL_METHODS)
def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_the_ratings(method):
    random = np.random.default_rng(1)
    unit, value = np.repeat(np.arange(40), 3), random.integers(1, 6, 120)
    prompt = np.array([f"prompt {number % 9}" for number in unit])
    order = random.permutation(120)

    found = [
        krippendorff_alpha(
            patterns_from_long(unit[rows], value[rows], clusters=prompt[rows]),
            level="ordinal",
            interval=settings(method, seed=seed),
        )
        for rows, seed in ((slice(None), 5), (order, 5), (order, 6))
    ]

    assert found[0] == found[1]
    assert method == "jackknife" or found[1].ci != found[2].ci


@pytest.mark.parametrize("method", ["units", "clusters"])
@pytest.mark.parametrize("level", LEVELS)
def test_long_scales_are_resampled_without_tables_of_values(level, method, monkeypatch):
    patterns = of(*[[k % 4, (k * k) % 4, 3] for k in range(20)], clusters=[k % 6 for k in range(20)])
    by_sums = krippendorff_alpha(patterns, level=level, interval=settings(method, replicates=50))
    monkeypatch.setattr(disagreement, "MOST_SUMMED_VALUES", 1)
    by_cells = krippendorff_alpha(patterns, level=level, interval=settings(method, replicates=50))

    assert by_cells.ci == pytest.approx(by_sums.ci, abs=1e-12)


def test_copies_of_a_unit_in_one_cluster_teach_nothing_new():
    ratings = [[1, 1], [1, 2], [2, 2], [3, 3], [3, 2], [1, 1], [3, 1], [2, 2]]
    copies = of(*(ratings * 9), clusters=list(range(8)) * 9)

    once = krippendorff_alpha(of(*ratings), level="interval", interval=settings("units", replicates=4000))
    clustered = krippendorff_alpha(copies, level="interval", interval=settings("clusters", replicates=4000))
    pretended = krippendorff_alpha(copies, level="interval", interval=settings("units", replicates=4000))

    assert np.ptp(clustered.ci) == pytest.approx(np.ptp(once.ci), rel=0.05)
    assert np.ptp(pretended.ci) < np.ptp(clustered.ci) / 2
    assert clustered.clusters == 8


def test_a_cluster_is_drawn_with_all_its_units():
    patterns = of([1, 1], [2, 2], [1, 1], [2, 2], [1, 2], clusters=["a", "a", "b", "b", "c"])
    found = krippendorff_alpha(patterns, level="nominal", interval=settings("clusters"))

    assert found.degenerate == 0  # each cluster holds both values
    assert (found.clusters, found.ci[1]) == (3, 1.0)


def test_clusters_are_as_many_as_have_units_to_compare():
    patterns = of([1, 1], [2, 2], [1, 2], [3], clusters=["a", "b", "b", "c"])

    assert krippendorff_alpha(patterns, level="nominal", interval=settings("clusters")).clusters == 2


def test_rows_from_the_database_keep_their_clusters():
    rows = [({1: 2}, 1), ({2: 2}, 2), ({1: 1, 2: 1}, 1), ({1: 2}, 1)]
    listed = of([1, 1], [2, 2], [2, 2], [1, 2], [1, 1], clusters=[4, 7, 7, 4, 9])

    told = patterns_from_rows(rows, clusters=[4, 7, 4, 9])

    by = settings("clusters")
    assert krippendorff_alpha(told, level="nominal", interval=by) == krippendorff_alpha(
        listed, level="nominal", interval=by
    )


def test_replicates_without_variation_are_counted_and_left_out():
    found = krippendorff_alpha(
        of([1, 1], [1, 1], [2, 2], [1, 2]), level="nominal", interval=settings("units")
    )

    assert 0 < found.degenerate < 100
    assert found.ci is not None


@pytest.mark.parametrize(
    ("patterns", "method", "reason"),
    [
        (of([1, 2], [3]), "units", "one_pairable_unit"),
        (of([1, 2], [1, 1], clusters=["a", "a"]), "clusters", "one_cluster"),
        (of([1, 1], [2, 2], [3, 3]), "units", "no_spread"),
        (of([1, 1], [2, 2], [3, 3]), "krippendorff", "no_spread"),
        (of([1, 1], [1, 1]), "krippendorff", "no_variation"),
        (of(), "clusters", "no_ratings"),
    ],
)
def test_an_interval_that_the_data_cannot_give_is_none_with_a_reason(patterns, method, reason):
    found = krippendorff_alpha(patterns, level="ordinal", interval=settings(method))

    assert (found.ci, found.reason) == (None, reason)


def test_an_interval_does_not_rest_on_the_smaller_half_of_the_replicates():
    two = of([1, 1], [2, 2], clusters=["a", "b"])
    found = [
        krippendorff_alpha(two, level="nominal", interval=settings("clusters", replicates=5, seed=seed))
        for seed in range(8)
    ]

    assert {one.reason for one in found if one.degenerate > 2} == {"mostly_undefined"}


def test_it_refuses_clusters_that_are_not_known_and_units_in_two():
    with pytest.raises(ValueError, match="do not say which units belong together"):
        krippendorff_alpha(of([1, 2], [1, 1]), level="nominal", interval=settings("clusters"))
    with pytest.raises(ValueError, match="A unit is in two clusters"):
        patterns_from_long([1, 1], [1, 2], clusters=["a", "b"])
    with pytest.raises(ValueError, match="Unknown interval 'bca'; known are jackknife, units"):
        settings("bca")


def test_symmetric_alpha_has_the_same_intervals():
    patterns = of([0, 1], [0, 0], [1, 1], [1, 1], [0, 0], clusters=[1, 2, 3, 4, 5])
    found = [symmetric_alpha(patterns, interval=settings(method)) for method in INTERVAL_METHODS]

    assert all(one.ci[0] < one.alpha <= one.ci[1] for one in found)


def test_units_drawn_anew_cover_the_truth_and_krippendorffs_pairs_do_not():
    truth = krippendorff_alpha(simulated(0, number=400_000, raters=5), level="nominal").alpha
    covered = {"jackknife": 0, "units": 0, "krippendorff": 0}
    for seed in range(1, 201):
        patterns = simulated(seed, number=60, raters=5)
        for method in covered:
            low, high = krippendorff_alpha(
                patterns, level="nominal", interval=settings(method, replicates=300)
            ).ci
            covered[method] += low <= truth <= high

    assert min(covered["jackknife"], covered["units"]) >= 180
    assert covered["krippendorff"] <= 165


def random_ratings(seed: int, *, values: int = 5) -> Patterns:
    random = np.random.default_rng(seed)
    raters, number = int(random.integers(2, 7)), int(random.integers(3, 25))
    truth = random.integers(0, values, number)
    ratings = np.where(
        random.random((raters, number)) < 0.5, truth, random.integers(0, values, (raters, number))
    ).astype(float)
    ratings[random.random(ratings.shape) < random.random() * 0.6] = np.nan
    return patterns_from_long(np.tile(np.arange(number), raters), ratings.ravel()).pairable()


@pytest.mark.parametrize("level", LEVELS)
def test_leaving_a_unit_out_by_formula_equals_leaving_it_out_of_the_data(level):
    for seed in range(60):
        patterns = random_ratings(seed)
        by_formula = leave_one_unit_out_alphas(patterns, level, disagreement.disagreement_at(patterns, level))
        afresh = [krippendorff_alpha(patterns.without(p), level=level).alpha for p in range(len(by_formula))]
        expected = [math.nan if alpha is None else alpha for alpha in afresh]

        np.testing.assert_allclose(by_formula, expected, rtol=0, atol=1e-12)


def test_leaving_a_unit_out_holds_for_arbitrary_labels():
    patterns = patterns_from_long([1, 1, 2, 2, 2, 3, 3, 4, 4], [0, 1, 0, 0, 1, 1, 1, 0, 0])
    sums = disagreement.symmetric_disagreement(patterns)

    for p, alpha in enumerate(leave_one_unit_out_alphas(patterns, "symmetric", sums)):
        rest = patterns.without(p)
        fresh = disagreement.symmetric_disagreement(rest)
        assert alpha == pytest.approx(1 - (rest.ratings - 1) * fresh.observed / fresh.expected, abs=1e-15)


@pytest.mark.parametrize("typo", [1e6, 1e12])
def test_a_unit_that_dwarfs_the_others_does_not_drown_them_when_it_is_left_out(typo):
    ratings = [1, 2, 3, 3, 5, 4, 2, 2, 5, typo]
    unit = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    patterns = patterns_from_long(unit, ratings)

    sums = disagreement.interval_disagreement(patterns)
    alphas = leave_one_unit_out_alphas(patterns, "interval", sums)

    clean = krippendorff_alpha(patterns_from_long(unit[:8], ratings[:8]), level="interval").alpha
    dwarf = int(patterns.pattern[patterns.code == len(patterns.values) - 1][0])
    assert alphas[dwarf] == pytest.approx(clean, abs=1e-12)


def test_the_standard_error_weighs_equal_units_by_their_number():
    once = patterns_from_long([1, 1, 2, 2, 3, 3, 4, 4, 5, 5], [1, 2, 1, 2, 1, 1, 2, 2, 2, 2])
    alphas = [krippendorff_alpha(once.without(p), level="nominal").alpha for p in range(3)]
    listed = np.repeat(alphas, once.multiplicity)

    error, reason = jackknife_standard_error(once, "nominal", disagreement.nominal_disagreement(once))

    assert error == pytest.approx(math.sqrt(4 / 5 * ((listed - listed.mean()) ** 2).sum()), abs=1e-14)
    assert reason is None
