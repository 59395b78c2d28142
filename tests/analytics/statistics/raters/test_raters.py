"""Single raters: votes they repeat, what changes without them, post-screening, and the pull of what they are shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics.agreement import disagreement
from analytics.statistics.agreement.alpha import LEVELS, IntervalSettings, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters.anchoring import agreement_effect, rating_effects
from analytics.statistics.raters.rater_agreement import one_left_out, self_consistency
from analytics.statistics.raters.screening import RoleRatings, screen_listeners

# Votes that raters repeat.


NAN = float("nan")


def test_it_compares_a_rater_with_nobody_else():
    found = self_consistency(
        [1, 1, 1, 1, 2, 2, 2, 3], list("aabbaabb"), [5, 5, 1, 1, 2, 3, 4, 5], level="ordinal"
    )

    assert (found.pairs, found.repeated, found.raters) == (3, 3, 2)
    assert found.equal == pytest.approx(2 / 3)
    assert (
        found.alpha.alpha
        == krippendorff_alpha(
            patterns_from_long([0, 0, 1, 1, 2, 2], [5, 5, 1, 1, 2, 3]), level="ordinal"
        ).alpha
    )
    assert found.reason is None


def test_three_answers_are_three_pairs():
    found = self_consistency(["u"] * 3, ["r"] * 3, [1, 1, 2], level="nominal")

    assert (found.equal, found.pairs, found.repeated) == (pytest.approx(1 / 3), 3, 1)


@pytest.mark.parametrize(
    ("units", "raters", "values"),
    [
        ([], [], []),
        ([1, 1], ["a", "b"], [3, 3]),
        ([1, 2], ["a", "a"], [3, 3]),
        ([1, 1], ["a", "a"], [3, NAN]),
    ],
    ids=["no answers", "two raters", "two units", "one of the two is missing"],
)
def test_without_repeats_it_is_none_with_a_reason(units, raters, values):
    found = self_consistency(units, raters, values, level="interval")

    assert (found.equal, found.alpha.alpha, found.pairs, found.repeated, found.raters) == (
        None,
        None,
        0,
        0,
        0,
    )
    assert found.reason == found.alpha.reason == "no_repeats"


def test_constant_answers_are_equal_but_have_no_alpha():
    found = self_consistency([1, 1, 2, 2], list("aabb"), [4, 4, 4, 4], level="ordinal")

    assert (found.equal, found.alpha.alpha, found.alpha.reason) == (1.0, None, "no_variation")


def test_sides_of_comparisons_are_arbitrary():
    found = self_consistency([1, 1, 2, 2], list("aaaa"), [1, 1, 1, 1], level="symmetric")

    assert (found.equal, found.alpha.alpha) == (1.0, 1.0)


def test_raters_can_be_drawn_with_all_they_repeated():
    random = np.random.default_rng(0)
    rater, unit = np.repeat(np.arange(6), 20), np.tile(np.repeat(np.arange(10), 2), 6)
    found = self_consistency(
        unit, rater, random.integers(1, 4, 120), level="ordinal", interval=IntervalSettings("clusters")
    )

    assert (found.repeated, found.alpha.clusters) == (60, 6)


def test_it_refuses_columns_of_unequal_length_and_raters_without_a_name():
    with pytest.raises(ValueError, match="columns of equal length"):
        self_consistency([1, 2], ["a"], [1, 2], level="nominal")
    with pytest.raises(ValueError, match="names no rater"):
        self_consistency([1, 1], ["a", None], [1, 2], level="nominal")


# One rater left out.


levels = st.sampled_from([*LEVELS, "symmetric"])
ratings = st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 4)), st.integers(0, 3), max_size=25)


def columns(given_: dict[tuple[int, int], int], level: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    unit, rater = np.array(list(given_), dtype=np.int64).reshape(-1, 2).T
    value = np.array(list(given_.values()), dtype=np.float64)
    return unit, rater, value % 2 if level == "symmetric" else value


def afresh(unit: np.ndarray, value: np.ndarray, level: str):
    patterns = patterns_from_long(unit, value)
    return symmetric_alpha(patterns) if level == "symmetric" else krippendorff_alpha(patterns, level=level)


def check(unit: np.ndarray, rater: np.ndarray, value: np.ndarray, level: str) -> None:
    found = one_left_out(unit, rater, value, level=level)
    assert [one.rater for one in found] == sorted(set(rater.tolist()))
    for one in found:
        own = rater == one.rater
        without = afresh(unit[~own], value[~own], level)
        assert one.reason == (None if without.alpha is not None else without.reason)
        assert one.alpha_without == (
            None if without.alpha is None else pytest.approx(without.alpha, abs=1e-12)
        )
        others = [(v, value[~own & (unit == u)]) for u, v in zip(unit[own], value[own], strict=True)]
        paired = [(v, rest) for v, rest in others if len(rest)]
        pairs = [v == other for v, rest in paired for other in rest]
        assert (one.ratings, one.pairable_ratings, one.pairs) == (own.sum(), len(paired), len(pairs))
        assert one.equal == (pytest.approx(np.mean(pairs)) if pairs else None)
        if level in ("nominal", "symmetric") or not paired:
            assert one.above_others is None
        else:
            assert one.above_others == pytest.approx(np.mean([v - rest.mean() for v, rest in paired]))


@settings(max_examples=60)
@given(ratings, levels)
def test_it_equals_computing_each_again_without_the_rater(given_, level):
    check(*columns(given_, level), level)


@pytest.mark.parametrize("level", LEVELS)
def test_long_scales_are_computed_rater_by_rater(level, monkeypatch):
    random = np.random.default_rng(1)
    unit, rater = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    value = random.integers(0, 60, 36).astype(float)
    check(unit, rater, value, level)
    monkeypatch.setattr(disagreement, "MOST_SUMMED_VALUES", 3)
    check(unit, rater, value % 5, level)


def test_raters_may_be_called_anything_and_missing_ratings_are_nobodys():
    found = one_left_out(
        [1, 1, 2, 2, 2], ["zoe", "al", "zoe", "al", "kim"], [1, 1, 2, 3, float("nan")], level="interval"
    )

    assert [(one.rater, one.ratings) for one in found] == [("al", 2), ("zoe", 2)]
    assert (found[0].equal, found[0].above_others) == (0.5, 0.5)


def test_a_rater_nobody_can_be_compared_with():
    alone, *rest = one_left_out([1, 2, 2, 3, 3], [0, 1, 2, 1, 2], [5, 1, 1, 2, 3], level="ordinal")

    assert (alone.pairs, alone.equal, alone.above_others, alone.reason) == (0, None, None, None)
    assert [one.reason for one in rest] == ["no_pairable_units"] * 2


def test_a_single_rater_leaves_nothing():
    (only,) = one_left_out([1, 2], ["a", "a"], [3, 4], level="ordinal")
    assert (only.alpha_without, only.reason) == (None, "no_ratings")
    assert one_left_out([], [], [], level="ordinal") == []


@pytest.mark.parametrize(
    ("raters", "values", "level", "sentence"),
    [
        (["a", "a"], [1, 2], "nominal", "Rater a rated a unit more than once"),
        (["a", None], [1, 2], "nominal", "names no rater"),
        (["a"], [1, 2], "nominal", "raters of"),
        (["a", "b"], [-1, 2], "ratio", "values of zero or more"),
        (["a", "b"], [1, 2], "likert", "Unknown level"),
    ],
)
def test_it_refuses_what_cannot_be_compared(raters, values, level, sentence):
    with pytest.raises(ValueError, match=sentence):
        one_left_out([1, 1], raters, values, level=level)


# Post-screening of MUSHRA listeners by the two rules of BS.1534.


def reference(n: int, low: int) -> RoleRatings:
    return RoleRatings("R-1", "hidden_reference", n, low, 0)


def anchor(n: int, high: int) -> RoleRatings:
    return RoleRatings("R-1", "anchor_7000", n, 0, high)


@pytest.mark.parametrize(
    ("rows", "marks"),
    [
        ([reference(20, 3), anchor(20, 3)], ()),  # 15 % is still forgiven
        ([reference(20, 4), anchor(20, 0)], ("hidden_reference_low",)),
        ([reference(20, 0), anchor(20, 4)], ("anchor_7000_high",)),
        ([reference(6, 1), anchor(6, 1)], ("hidden_reference_low", "anchor_7000_high")),
        ([reference(1, 1)], ("hidden_reference_low",)),
        ([anchor(0, 0)], ()),
    ],
)
def test_a_listener_is_marked_beyond_15_per_cent_of_their_trials(rows, marks):
    assert screen_listeners(rows)["R-1"].marks == marks


def test_each_listener_is_screened_by_their_own_trials():
    found = screen_listeners([reference(10, 2), RoleRatings("R-0", "hidden_reference", 10, 0, 0)])
    assert {rater: one.reference_low for rater, one in found.items()} == {"R-0": 0.0, "R-1": 0.2}
    assert found["R-0"].anchor_high is None
    assert list(found) == ["R-0", "R-1"]


def test_the_low_anchor_marks_nobody():
    assert screen_listeners([RoleRatings("R-1", "anchor_3500", 10, 0, 10)])["R-1"].marks == ()


# The effect of showing: by hand, against another way to reckon it, and on votes whose truth is known.


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
