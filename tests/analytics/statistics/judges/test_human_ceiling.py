"""The human ceiling by brute force: every rater held out in turn, one row per turn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.human_ceiling import preference_ceiling, rating_ceiling

RNG = np.random.default_rng(8)
UNITS = 60
SIZES = RNG.integers(1, 5, size=UNITS)
UNIT = np.repeat(np.arange(UNITS), SIZES)
TRUTH = RNG.normal(size=UNITS)
VALUE = np.clip(np.round(TRUTH[UNIT] + RNG.normal(size=len(UNIT)) + 3), 1, 5)
SCORES = np.where(np.arange(UNITS) % 9 == 0, np.nan, TRUTH + RNG.normal(size=UNITS) / 2)
QUICK = Resampling(replicates=40)


def turns():
    """Unit, held-out rating, mean of the rest: each turn repeated so that every unit has twelve rows."""
    for unit in range(UNITS):
        values = VALUE[unit == UNIT]
        if len(values) > 1 and np.isfinite(SCORES[unit]):
            for number, own in enumerate(values):
                rest = np.delete(values, number).mean()
                yield from [(unit, own, rest)] * (12 // len(values))


def test_a_held_out_rating_is_compared_with_the_mean_of_the_rest():
    unit, own, rest = map(np.array, zip(*turns(), strict=True))
    found = rating_ceiling(UNIT, VALUE, SCORES, resampling=QUICK)
    assert found.lcc.human.value == pytest.approx(stats.pearsonr(own, rest).statistic)
    assert found.lcc.model.value == pytest.approx(stats.pearsonr(SCORES[unit], rest).statistic)
    # Average ranks of twelve rows per unit are twelve times those of its weight in one, but for half a rank.
    assert found.srcc.human.value == pytest.approx(stats.spearmanr(own, rest).statistic, abs=1e-3)
    assert found.srcc.ratio.value == pytest.approx(found.srcc.model.value / found.srcc.human.value)
    counted = np.isfinite(SCORES) & (SIZES > 1)
    assert (found.lcc.units, found.lcc.answers) == (counted.sum(), SIZES[counted].sum())
    assert found.lcc.human.n == counted.sum()


def test_the_figure_is_about_that_of_one_rater_drawn_from_each_unit():
    # Sums are averages over draws; the average of correlations is a little higher where units are few.
    found = rating_ceiling(UNIT, VALUE, SCORES, resampling=QUICK).lcc.human.value
    rng, drawn = np.random.default_rng(1), []
    units = [VALUE[unit == UNIT] for unit in range(UNITS) if np.isfinite(SCORES[unit]) and SIZES[unit] > 1]
    for _ in range(60):
        chosen = [rng.integers(len(one)) for one in units]
        own = [one[n] for one, n in zip(units, chosen, strict=True)]
        rest = [np.delete(one, n).mean() for one, n in zip(units, chosen, strict=True)]
        drawn.append(stats.pearsonr(own, rest).statistic)
    assert found == pytest.approx(np.mean(drawn), abs=0.03)


def test_ratings_in_another_order_give_the_same_bytes():
    order = RNG.permutation(len(UNIT))
    assert rating_ceiling(UNIT[order], VALUE[order], SCORES, resampling=QUICK) == rating_ceiling(
        UNIT, VALUE, SCORES, resampling=QUICK
    )


def test_model_and_person_are_resampled_together():
    # Where the scorer says what the one held out says, the ratio is 1 in every resample.
    unit, value = np.repeat(np.arange(9), 2), np.repeat([1.0, 2, 3, 4, 5, 1, 2, 3, 4], 2)
    found = rating_ceiling(unit, value, value[::2], resampling=QUICK).srcc
    assert (found.human.value, found.ratio.interval) == (pytest.approx(1), pytest.approx((1, 1)))


@pytest.mark.parametrize(
    ("value", "scores", "reason"),
    [
        ([3.0, 4, 5, 4], [1.0, 2, 3, 4], "no_rest"),
        ([3.0, 3, 3, 3, 3, 3, 3, 3], [1.0, 2, 3, 4], "constant_raters"),
        ([1.0, 2, 3, 4, 5, 4, 3, 2], [1.0, 1, 1, 1], "constant_scores"),
        ([1.0, 2, 3, 4, 5, 4, 3, 2], [np.nan] * 4, "no_rest"),
    ],
)
def test_where_there_is_no_ceiling_a_reason_says_why(value, scores, reason):
    unit = np.arange(len(value)) % 4
    found = rating_ceiling(unit, value, scores, resampling=QUICK).lcc
    assert (found.human.value, found.ratio.reason) == (None, reason)


def test_people_who_disagree_are_no_measure_for_a_scorer():
    unit = np.repeat(np.arange(4), 2)
    found = rating_ceiling(unit, [1.0, 5, 5, 1, 1, 5, 5, 1], [1.0, 2, 3, 5], resampling=QUICK).lcc
    assert found.human.value == pytest.approx(-1)
    assert (found.ratio.value, found.ratio.reason) == (None, "no_agreement")


VOTES = RNG.multinomial(4, [0.5, 0.3, 0.2], size=50).astype(float)
VOTES[::7] = [1, 0, 0]
LEADS = np.where(np.arange(50) % 8 == 0, 0.0, RNG.normal(size=50) + VOTES[:, 0] - VOTES[:, 1])


def test_a_held_out_vote_is_compared_with_the_majority_of_the_rest():
    human, model, weights = [], [], []
    for votes, lead in zip(VOTES, LEADS, strict=True):
        ballots = np.repeat([1.0, -1, 0], votes.astype(int))
        for number, own in enumerate(ballots):
            rest = np.sign(np.delete(ballots, number).sum())
            if len(ballots) > 1 and rest:
                human.append((1 + own * rest) / 2)
                model.append((1 + np.sign(lead) * rest) / 2)
                weights.append(1 / len(ballots))
    found = preference_ceiling(VOTES, LEADS, resampling=QUICK)
    assert found.human.value == pytest.approx(np.average(human, weights=weights))
    assert found.model.value == pytest.approx(np.average(model, weights=weights))
    assert found.ratio.value == pytest.approx(found.model.value / found.human.value)
    assert found.ratio.interval is not None


def test_exchanging_the_sides_of_a_pair_changes_nothing():
    swap = np.arange(50) % 2 == 0
    votes = np.where(swap[:, None], VOTES[:, [1, 0, 2]], VOTES)
    found = preference_ceiling(votes, np.where(swap, -LEADS, LEADS), resampling=QUICK)
    assert found.human.value == pytest.approx(preference_ceiling(VOTES, LEADS, resampling=QUICK).human.value)


@pytest.mark.parametrize("votes", [[[1.0, 0, 0]], [[0.0, 0, 5]], [[0.0, 0, 0]]])
def test_single_votes_and_ties_alone_have_no_rest_that_decides(votes):
    found = preference_ceiling(np.array(votes * 3), [1.0, 2, 3], resampling=QUICK)
    assert (found.human.reason, found.units) == ("no_rest", 0)


def test_without_any_answer_there_is_nobody_to_compare():
    nobody = rating_ceiling(np.zeros(0, dtype=int), [], [], resampling=QUICK)
    assert (nobody.lcc.human.reason, nobody.srcc.answers) == ("no_rest", 0)
    assert preference_ceiling(np.zeros((0, 3)), [], resampling=QUICK).model.reason == "no_rest"
