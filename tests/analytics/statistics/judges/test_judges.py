"""Judges of answers: their figures, several as one, the human ceiling, and the length of answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from analytics.statistics.arrays import percentile_ranks
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.aggregation import cross_fitted, learned_weights, simple_mean
from analytics.statistics.judges.answer_length import answer_types, count_words, length_decay
from analytics.statistics.judges.human_ceiling import preference_ceiling, rating_ceiling
from analytics.statistics.judges.orca_evaluation import (
    judge_figures,
    mean_rating_baseline,
    over_seeds,
    rater_ceiling,
)

# Figures of judges of answers, against scipy and numpy.


RATINGS = [(1, 1), (5, 4, 5), (3, 2, 4, 1), (1,), (), (5, 5, 5), (2, 4, 3)]
MEANS = [0.1, 0.9, 0.4, 0.1, 0.7, np.nan, 0.6]


def test_figures_are_those_of_scipy_on_answers_with_both():
    found = judge_figures(MEANS, RATINGS)
    kept = [0, 1, 2, 3, 6]
    said, people = np.array(MEANS)[kept], [(np.mean(RATINGS[at]) - 1) / 4 for at in kept]
    assert found.spearman.value == pytest.approx(stats.spearmanr(said, people).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(said, people).statistic)
    assert found.mae_mean.value == pytest.approx(np.abs(said - people).mean())
    assert {found.spearman.n, found.kendall.n, found.mae_mean.n} == {5}


def test_variances_count_from_three_ratings_on_and_are_unbiased_unless_said_otherwise():
    foretold = [0.2, 0.01, 0.05, 0.2, 0.2, np.nan, 0.1]
    for unbiased, ddof in ((True, 1), (False, 0)):
        found = judge_figures(MEANS, RATINGS, variances=foretold, unbiased=unbiased).mae_variance
        errors = [abs(foretold[at] - np.var(RATINGS[at], ddof=ddof) / 16) for at in (1, 2, 6)]
        assert (found.value, found.n) == (pytest.approx(np.mean(errors)), 3)


def test_what_is_not_defined_has_a_reason():
    found = judge_figures([0.5] * 7, RATINGS)
    assert (found.spearman.value, found.spearman.reason) == (None, "constant_scores")
    assert (found.mae_variance.value, found.mae_variance.reason) == (None, "no_variances")
    nothing = judge_figures([0.5], [()])
    assert (nothing.spearman.reason, nothing.mae_mean.reason) == ("too_few", "no_answers")
    assert judge_figures([], []).mae_mean.reason == "no_answers"


def test_the_average_rating_has_errors_and_no_ranks():
    train = [(1, 1, 4), (5,), ()]
    found = mean_rating_baseline(train, RATINGS)
    mean = np.mean([(2 - 1) / 4, 1.0])
    people = [(np.mean(given) - 1) / 4 for given in RATINGS if given]
    assert found.mae_mean.value == pytest.approx(np.abs(np.array(people) - mean).mean())
    assert (found.spearman.value, found.kendall.reason) == (None, "constant_scores")
    spread = np.var([1, 1, 4], ddof=1) / 16
    own = [np.var(given, ddof=1) / 16 for given in RATINGS if len(given) > 2]
    assert found.mae_variance.value == pytest.approx(np.abs(np.array(own) - spread).mean())
    assert mean_rating_baseline([], RATINGS).mae_mean.reason == "no_answers"


def test_the_ceiling_compares_one_rater_and_the_judge_with_the_mean_of_the_others():
    ratings = [(1, 2), (3, 3), (5, 4), (2, 2), (1, 5)]
    said = [0.0, 0.5, 1.0, 0.2, 0.4]
    found = rater_ceiling(said, ratings)
    own = [one for given in ratings for one in given]
    rest = [given[1 - at] for given in ratings for at in (0, 1)]
    assert found.rater.value == pytest.approx(stats.spearmanr(own, rest).statistic)
    assert found.judge.value == pytest.approx(stats.spearmanr(np.repeat(said, 2), rest).statistic)
    assert found.rater.n == 5
    alone = rater_ceiling([0.1, 0.2], [(1,), (2,)])
    assert (alone.rater.value, alone.rater.reason) == (None, "no_rest")


def test_splits_are_averaged_where_the_figure_is_defined():
    found = over_seeds([0.7, None, 0.8, 0.9])
    assert (found.mean, found.n) == (pytest.approx(0.8), 3)
    assert found.sd == pytest.approx(np.std([0.7, 0.8, 0.9], ddof=1))
    assert (over_seeds([0.5]).mean, over_seeds([0.5]).sd) == (0.5, None)
    assert (over_seeds([None]).mean, over_seeds([None]).reason) == (None, "no_seeds")


# Several judges' scores as one, against scipy's optimiser.


NAN = np.nan


def judged(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three judges: one good and on another scale, one fair, one who guesses."""
    draw = np.random.default_rng(seed)
    people = draw.uniform(0, 1, n)
    good = 0.3 + 0.3 * people + draw.normal(0, 0.03, n)
    fair = np.clip(people + draw.normal(0, 0.3, n), 0, 1)
    return np.stack([good, fair, draw.uniform(0, 1, n)], axis=1), people


def test_the_mean_is_that_of_the_judges_who_have_a_score():
    found = simple_mean(np.array([[0.2, 0.4], [NAN, 0.6], [NAN, NAN]]))
    assert found[:2] == pytest.approx([0.3, 0.6])
    assert np.isnan(found[2])


def test_scores_are_calibrated_on_dev_and_weights_learned_on_train():
    (train, train_people), (dev, dev_people) = judged(400, 1), judged(200, 2)
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    lines = np.array([np.polyfit(column, dev_people, 1) for column in dev.T])
    assert found.slope == pytest.approx(np.maximum(lines[:, 0], 0))
    assert found.intercept[:2] == pytest.approx(lines[:2, 1])
    calibrated = found.calibrated(train)
    best = optimize.minimize(
        lambda weight: ((calibrated @ weight - train_people) ** 2).mean(),
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda weight: weight.sum() - 1},
        tol=1e-12,
    )
    assert found.weight == pytest.approx(best.x, abs=1e-4)
    assert found.weight.sum() == pytest.approx(1)
    assert found.weight[0] > 0.8


def test_learned_weights_err_less_than_the_mean_on_what_neither_has_seen():
    (train, train_people), (dev, dev_people), (test, people) = judged(400, 1), judged(200, 2), judged(300, 3)
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    assert np.abs(found(test) - people).mean() < np.abs(simple_mean(test) - people).mean() / 2


def test_a_judge_who_is_missing_leaves_the_weight_to_the_others():
    (train, train_people), (dev, dev_people) = judged(400, 1), judged(200, 2)
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    only = np.array([[NAN, 0.4, NAN], [NAN, NAN, NAN]])
    got = found(only)
    assert got[0] == pytest.approx(found.calibrated(only)[0, 1])
    assert np.isnan(got[1])


def test_a_judge_who_runs_against_people_is_not_turned_round_and_one_without_spread_is_harmless():
    (train, train_people), (dev, dev_people) = judged(50, 1), judged(50, 2)
    train, dev = (np.column_stack([part[:, 0], 1 - part[:, 0], np.full(50, 0.5)]) for part in (train, dev))
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    assert found.slope[1:] == pytest.approx([0, 0])
    assert np.isfinite(found(train)).all()


def test_too_few_answers_are_named():
    scores, people = judged(10, 1)
    assert learned_weights(scores, people, scores[:2], people[:2]).reason == "too_few_dev"
    scores[3:] = NAN
    whole, means = judged(10, 2)
    assert learned_weights(scores[2:], people[2:], whole, means).reason == "too_few_train"


def test_no_answer_is_foretold_by_weights_that_saw_it():
    scores, people = judged(60, 5)
    groups = np.repeat(np.arange(20), 3)
    before = cross_fitted(scores, people, groups, seed=1)
    turned = people.copy()
    turned[groups == 7] = 1 - turned[groups == 7]
    after = cross_fitted(scores, turned, groups, seed=1)
    assert len(before.parts) == 5
    assert (after.scores[groups == 7] == before.scores[groups == 7]).all()
    assert (after.scores != before.scores).any()


def test_weights_need_three_answers_when_a_part_is_set_apart():
    scores, people = judged(12, 5)
    found = cross_fitted(scores, people, np.repeat([1, 2], [10, 2]), seed=1)
    assert (found.reason, found.parts) == ("too_few_apart", ())
    assert np.isnan(found.scores).all()


# The human ceiling by brute force: every rater held out in turn, one row per turn.


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


# Counting words, and sorting answers by what was asked for.


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("", 0),
        ("A dog barks.", 3),
        ("don't stop, rock-and-roll!", 3),
        ("— … ?", 0),
        ("狗在叫", 3),
        ("一只 dog 在叫", 5),
        ("3.5 seconds", 3),
        ("naïve été", 2),
    ],
)
def test_words_are_counted(text, n):
    assert count_words(text) == n


def test_a_yes_or_no_question_is_one_whatever_is_answered():
    assert answer_types(["Yes.", "no", "是"], ["It is hard to say, really.", "No", "对"]) == ["binary"] * 3


def test_one_word_is_asked_for_where_the_reference_is_one():
    assert answer_types(["rain"], ["It sounds like heavy rain on a roof."]) == ["word"]


def test_the_rest_falls_into_three_buckets_by_the_length_of_the_answer():
    answers = [
        "two words",
        "three words here",
        "one more has five words",
        "a b c d e f",
        "a b c d e f g",
        "x",
    ]
    assert answer_types(["a longer reference"] * 6, answers) == [
        "short", "medium", "medium", "long", "long", "short",
    ]  # fmt: skip


def test_without_a_reference_the_answer_tells_what_was_asked_for():
    assert answer_types(["", "  "], ["no", "guitar"]) == ["binary", "word"]
    assert answer_types([], []) == []
    with pytest.raises(ValueError, match="reference"):
        answer_types(["a"], [])


def test_what_falls_with_length_shows_in_bins_and_in_one_figure():
    rng = np.random.default_rng(6)
    lengths = rng.integers(5, 400, size=240)
    correct = (rng.random(240) < 1 - lengths / 500).astype(float)
    found = length_decay(lengths, correct, clusters=(np.arange(240) // 4).tolist(), resampling=QUICK)
    assert [one.n for one in found.bins] == pytest.approx([40] * 6, abs=3)
    means = [one.mean.value for one in found.bins]
    assert means[0] > 0.8 > 0.5 > means[-1]
    first = lengths <= found.bins[0].highest
    assert (found.bins[0].x, means[0]) == (lengths[first].mean(), pytest.approx(correct[first].mean()))
    assert found.srcc.value == pytest.approx(stats.spearmanr(lengths, correct).statistic)
    assert found.srcc.interval[1] < 0


def test_without_lengths_or_with_one_length_there_is_no_decay():
    nothing = length_decay([np.nan] * 4, [1, 2, 3, 4], resampling=QUICK)
    assert (nothing.bins, nothing.srcc.reason) == ((), "too_few")
    alike = length_decay([7] * 30, np.arange(30), resampling=QUICK)
    assert (len(alike.bins), alike.srcc.value) == (1, None)


def test_places_run_from_first_to_last_and_equals_share_theirs():
    values = np.array([30.0, 10, 20, 20, 40])
    assert percentile_ranks(values).tolist() == ((stats.rankdata(values) - 1) / 4).tolist()
    assert percentile_ranks(np.array([5.0])).tolist() == [0.5]
    assert percentile_ranks(np.zeros(3)).tolist() == [0.5] * 3
