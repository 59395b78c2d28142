"""What counts as genuinely disputed, and in which order it is listed."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.agreement.patterns import patterns_from_rows
from analytics.statistics.arrays import group_variances
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ratings.contested import contested_units, noise_reference, variance_counts

UNIT = np.array([0, 0, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5, 5])
VALUE = np.array([1.0, 5, 2, 2, 1, 5, 5, 1, 1, 5, 5, 1, 4])


def found(**fields):
    return contested_units(
        UNIT, VALUE, **{"adjusted": None, "reported": np.arange(6) == 2, "threshold": 1.0, **fields}
    )


def test_far_apart_and_unreported_is_contested():
    result = found()
    assert result.above_threshold.tolist() == [True, False, True, False, True, True]
    assert result.explained.tolist() == [False, False, True, False, False, False]
    assert result.pairable.tolist() == [True, True, True, False, True, True]


def test_the_furthest_apart_come_first_then_those_with_more_ratings():
    assert found().ranked_units().tolist() == [4, 0, 5]


def test_what_severity_explains_is_not_contested():
    strict = np.where(VALUE == 1, 2.5, VALUE)  # whoever gives a 1 rates so throughout
    result = found(adjusted=strict)
    assert result.ranked_units().tolist() == [4, 0]
    assert result.adjusted_variance[5] == pytest.approx(np.var([2.5, 4]))


def test_a_threshold_is_above_zero():
    with pytest.raises(ValueError, match="above zero"):
        found(threshold=0.0)


def test_each_reading_of_a_variance_above_one_is_counted_apart():
    # By n: 0.25, 2/3, 1, 4. By n - 1: 0.5, 1, 2, 8. And one rating alone.
    units = [{4.0: 1, 5.0: 1}, {2.0: 1, 3.0: 1, 4.0: 1}, {1.0: 1, 3.0: 1}, {1.0: 1, 5.0: 1}, {1.0: 1}]
    found = variance_counts(patterns_from_rows([(unit, 10) for unit in units]), threshold=1.0)
    assert (found.units, found.pairable_units) == (50, 40)
    assert (found.population_above, found.population_reaching) == (10, 20)
    assert (found.unbiased_above, found.unbiased_reaching) == (20, 30)


def test_nothing_rated_has_no_spread():
    found = variance_counts(patterns_from_rows([]), threshold=1.0)
    assert (found.units, found.unbiased_reaching) == (0, 0)


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_a_variance_is_compared_with_a_threshold_above_zero(threshold):
    with pytest.raises(ValueError, match="above zero"):
        variance_counts(patterns_from_rows([]), threshold=threshold)


QUICK = Resampling(replicates=100, level=0.99)
CUTS = np.array([-0.8, -0.1, 0.3, 0.9])


def noisy(seed: int, *, units: int = 3000, consistency: float = 0.6, cuts: np.ndarray | None = CUTS):
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), rng.integers(1, 6, units))
    latent = np.sqrt(consistency) * rng.normal(size=units)[unit]
    latent = latent + np.sqrt(1 - consistency) * rng.normal(size=len(unit))
    return unit, latent if cuts is None else 1.0 + np.searchsorted(cuts, latent)


@pytest.mark.parametrize("consistency", [0.3, 0.8])
def test_noise_alone_is_recognised_on_a_scale_of_points(consistency):
    found = noise_reference(*noisy(2, consistency=consistency), thresholds=(1.0, 2.0), resampling=QUICK)
    assert found.consistency == pytest.approx(consistency, abs=0.04)
    for share in found.shares:
        assert share.low <= share.above / found.units <= share.high
        assert share.low < share.expected < share.high


def test_noise_alone_is_recognised_on_a_continuous_scale():
    unit, value = noisy(2, cuts=None, units=1500)
    found = noise_reference(unit, value, thresholds=(0.3, 1.0), resampling=QUICK)
    assert found.consistency == pytest.approx(0.6, abs=0.05)
    assert all(share.low <= share.above / found.units <= share.high for share in found.shares)


def test_disputed_units_among_clear_ones_are_more_than_noise():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(2000), 4)
    value = rng.integers(1, 6, 2000)[unit].astype(float)
    disputed = unit < 100
    value[disputed] = rng.choice([1.0, 5.0], disputed.sum())
    found = noise_reference(unit, value, thresholds=(2.0,), resampling=QUICK)
    (share,) = found.shares
    assert share.above / found.units > share.high
    assert share.p == 2 / 101  # none of a hundred is as far out


def test_p_values_of_noise_alone_are_small_no_more_often_than_they_say():
    found = [
        noise_reference(*noisy(seed, units=150), thresholds=(1.0,), resampling=QUICK).shares[0].p
        for seed in range(40)
    ]
    assert sum(p < 0.05 for p in found) <= 6  # 2 expected; 7 or more by chance in 0.3 %
    # Nor much more rarely: 8 are expected below 0.2, 1 or none by chance in 0.1 %.
    assert sum(p < 0.2 for p in found) >= 2
    assert np.median(found) > 0.25


def test_a_fifth_of_disputed_units_is_found_though_it_makes_all_noise_look_larger():
    rng = np.random.default_rng(7)
    place = np.repeat(rng.normal(size=400), 3) + 0.55 * rng.normal(size=1200)
    place += np.where(np.arange(1200) < 240, rng.choice([-1.3, 1.3], 1200), 0)
    value = 1.0 + np.searchsorted([-1.5, -0.5, 0.5, 1.5], place)
    found = noise_reference(np.repeat(np.arange(400), 3), value, thresholds=(1.0,), resampling=QUICK)
    assert found.shares[0].p < 0.05


def test_variances_are_numpys():
    unit, value = np.array([0, 0, 0, 1, 2, 2]), np.array([1.0, 5, 5, 2, 3, 3])
    found = group_variances(unit, value, size=4, ddof=0)
    assert found[[0, 2]] == pytest.approx([np.var([1, 5, 5]), 0])
    assert np.isnan(found[[1, 3]]).all()


def test_the_order_of_the_ratings_leaves_no_trace():
    unit, value = noisy(4, units=200)
    turned = np.random.default_rng(0).permutation(len(unit))
    kept = [
        noise_reference(u, v, thresholds=(1.0,), resampling=QUICK)
        for u, v in ((unit, value), (unit[turned], value[turned]))
    ]
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("unit", "value", "reason"),
    [
        ([], [], "no_pairable_units"),
        ([0, 1], [1, 5], "no_pairable_units"),
        ([0, 0, 1], [3, 3, 5], "no_variation"),
    ],
)
def test_what_cannot_be_said_has_a_reason(unit, value, reason):
    found = noise_reference(
        np.array(unit, dtype=np.int64), np.array(value, dtype=float), thresholds=(1.0,), resampling=QUICK
    )
    assert (found.reason, found.shares) == (reason, ())


def test_perfect_agreement_expects_nobody_far_apart():
    unit = np.repeat(np.arange(30), 3)
    found = noise_reference(unit, (unit % 5).astype(float), thresholds=(1.0,), resampling=QUICK)
    assert (found.shares[0].above, found.shares[0].expected) == (0, pytest.approx(0, abs=0.01))
