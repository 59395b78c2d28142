"""The effect of showing: by hand, against another way to reckon it, and on votes whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters.anchoring import agreement_effect, rating_effects

FEW = Resampling(replicates=400)


def test_it_is_the_difference_between_the_two_shares():
    """Seven of ten votes agree where it was shown, a tie among them; one and a half of three where it was not."""
    agrees = [1, 1, 1, 1, 1, 1, 0.5, 0.5, 0, 0, 1, 0.5, 0]
    shown = [True] * 10 + [False] * 3
    found = agreement_effect(agrees, shown=shown, raters=list("aabbccddee") + list("abc"), resampling=FEW)
    assert (found.shown.votes, found.shown.raters, found.withheld.votes) == (10, 5, 3)
    assert found.shown.value == pytest.approx(0.7)
    assert found.withheld.value == pytest.approx(0.5)
    assert found.value == pytest.approx(0.2)
    assert (found.interval, found.reason) == (None, "few_raters")


def test_ratings_are_nearer_to_the_model_and_follow_it_more_where_it_was_shown():
    rng = np.random.default_rng(3)
    said = rng.uniform(1, 5, 200) + 1000
    shown, raters = rng.random(200) < 0.7, np.arange(200) % 9
    ratings = np.where(shown, 0.8 * said, 0.3 * said) + rng.normal(size=200)
    found = rating_effects(ratings, said, shown=shown, raters=raters, resampling=FEW)
    for group, mask in ((found.slope.shown, shown), (found.slope.withheld, ~shown)):
        assert group.value == pytest.approx(stats.linregress(said[mask], ratings[mask]).slope)
    apart = np.abs(ratings - said)
    assert found.distance.value == pytest.approx(apart[shown].mean() - apart[~shown].mean())
    assert found.slope.value == pytest.approx(0.5, abs=0.25)
    low, high = found.slope.interval
    assert low < found.slope.value < high


def votes(rng, *, raters, each, effect, withheld=0.1, apart=0.5):
    """Raters agree with the model at rates of their own; seeing it adds the same log-odds for all."""
    own = np.repeat(rng.normal(0.3, apart, raters), each)
    shown = rng.random(len(own)) >= withheld
    chance = 1 / (1 + np.exp(-own - effect * shown))
    return (rng.random(len(own)) < chance).astype(float), shown, np.repeat(np.arange(raters), each)


@pytest.mark.parametrize(("raters", "each", "effect"), [(8, 60, 0.0), (8, 60, 1.0), (20, 30, 1.0)])
def test_intervals_hold_the_known_effect_about_as_often_as_they_say(raters, each, effect):
    rng = np.random.default_rng(11)
    many = rng.normal(0.3, 0.5, 200_000)
    truth = (1 / (1 + np.exp(-many - effect)) - 1 / (1 + np.exp(-many))).mean()
    held, values = 0, []
    for _ in range(200):
        agrees, shown, number = votes(rng, raters=raters, each=each, effect=effect)
        found = agreement_effect(agrees, shown=shown, raters=number, resampling=FEW)
        low, high = found.interval
        held += low <= truth <= high
        values.append(found.value)
    assert 0.88 <= held / 200 <= 0.995
    assert np.mean(values) == pytest.approx(truth, abs=3 * np.std(values) / np.sqrt(200))


@pytest.mark.parametrize(
    ("agrees", "shown", "raters", "reason"),
    [
        ([], [], [], "none_shown"),
        ([1, 0], [False, False], [1, 2], "none_shown"),
        ([1, 0], [True, True], [1, 2], "none_withheld"),
        ([1, 0, 1], [True, True, False], [1, 2, 3], "few_raters"),
        ([1, 0, 1, 0, 1, *[1] * 6], [True] * 5 + [False] * 6, [*range(5), *range(6)], "all_alike"),
    ],
)
def test_where_something_cannot_be_told_there_is_a_reason(agrees, shown, raters, reason):
    found = agreement_effect(agrees, shown=shown, raters=raters, resampling=FEW)
    assert (found.interval, found.reason) == (None, reason)
    assert (found.value is None) == reason.startswith("none")


def test_a_model_that_says_the_same_of_everything_has_no_slope():
    found = rating_effects(
        [1, 2, 3, 4], [2.5] * 4, shown=[True, True, False, False], raters=range(4), resampling=FEW
    )
    assert (found.slope.value, found.slope.reason) == (None, "no_slope")
    assert found.distance.value == pytest.approx(0.0)


def test_names_and_order_of_raters_change_nothing():
    rng = np.random.default_rng(5)
    agrees, shown, number = votes(rng, raters=7, each=40, effect=0.5)
    order = rng.permutation(len(agrees))
    one = agreement_effect(agrees, shown=shown, raters=number, resampling=FEW)
    other = agreement_effect(agrees[order], shown=shown[order], raters=100 + number[order], resampling=FEW)
    assert one == other


def in_two_phases(rng, *, effect=0.0):
    """The share not shown rises from a tenth to a half together with a version that people agree with more."""
    rater, later = np.repeat(np.arange(20), 100), np.tile([False] * 50 + [True] * 50, 20)
    shown = rng.random(len(rater)) >= np.where(later, 0.5, 0.1)
    agrees = rng.random(len(rater)) < np.where(later, 0.7, 0.4) + effect * shown
    return agrees.astype(float), shown, rater, later


def test_another_share_and_version_pass_for_an_effect_only_where_they_are_not_told():
    agrees, shown, rater, later = in_two_phases(np.random.default_rng(0))
    pooled = agreement_effect(agrees, shown=shown, raters=rater, resampling=FEW)
    assert pooled.interval[1] < 0
    found = agreement_effect(agrees, shown=shown, raters=rater, strata=later, resampling=FEW)
    parts = [agrees[shown & part].mean() - agrees[~shown & part].mean() for part in (later, ~later)]
    assert found.value == pytest.approx(np.mean(parts))  # of equally many votes
    assert (found.shown.votes, found.withheld.votes) == (shown.sum(), (~shown).sum())
    assert found.interval[0] < 0 < found.interval[1]


def test_intervals_over_strata_hold_the_known_effect_about_as_often_as_they_say():
    rng, held = np.random.default_rng(12), 0
    for _ in range(100):
        agrees, shown, rater, later = in_two_phases(rng, effect=0.1)
        low, high = agreement_effect(agrees, shown=shown, raters=rater, strata=later, resampling=FEW).interval
        held += low <= 0.1 <= high
    assert 88 <= held <= 99


def test_slopes_and_distances_weigh_votes_by_their_stratum_as_weighted_least_squares_do():
    rng = np.random.default_rng(4)
    strata, rater = np.repeat([0, 1], [80, 160]), np.arange(240) % 8
    shown = rng.random(240) >= np.where(strata, 0.6, 0.2)
    said = rng.uniform(1, 5, 240)
    ratings = np.where(strata, 0.9, 0.2) * said + rng.normal(size=240)
    found = rating_effects(ratings, said, shown=shown, raters=rater, strata=strata, resampling=FEW)
    for slope, distance, mask in (
        (found.slope.shown, found.distance.shown, shown),
        (found.slope.withheld, found.distance.withheld, ~shown),
    ):
        weights = np.array([(strata == one).sum() / (mask & (strata == one)).sum() for one in strata])[mask]
        assert slope.value == pytest.approx(np.polyfit(said[mask], ratings[mask], 1, w=np.sqrt(weights))[0])
        assert distance.value == pytest.approx(np.average(np.abs(ratings - said)[mask], weights=weights))


def test_a_stratum_without_both_groups_is_left_out_and_nothing_is_compared_across_strata():
    agrees, shown = [1, 1, 0, 0, 1, 1], [True, False, True, False, True, True]
    found = agreement_effect(agrees, shown=shown, raters=range(6), strata=[1, 1, 1, 1, 2, 2], resampling=FEW)
    assert (found.value, found.shown.votes, found.withheld.votes) == (0.0, 2, 2)
    across = agreement_effect(agrees, shown=shown, raters=range(6), strata=shown, resampling=FEW)
    assert (across.value, across.interval, across.reason) == (None, None, "never_both")
    assert (across.shown.value, across.withheld.value) == (0.75, 0.5)
