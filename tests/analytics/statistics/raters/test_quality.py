"""Figures of one rater's work, by hand and against other implementations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.agreement.alpha import krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.raters import quality
from analytics.statistics.raters.against_the_rest import (
    CONCENTRATIONS,
    against_the_rest,
    content_evidence,
    most_likely_concentration,
    rater_sums,
)
from analytics.statistics.raters.deviating_preference import (
    most_deviating,
    preference_deviation,
    shift_deviation,
)
from analytics.statistics.raters.rater_agreement import one_left_out


def test_a_share_has_wilsons_interval():
    share = quality.rater_share(7, 10)

    assert (share.low, share.high) == pytest.approx(
        tuple(stats.binomtest(7, 10).proportion_ci(method="wilson"))
    )
    assert quality.rater_share(0, 0).value is None


def test_the_bias_is_0_for_half_and_1_for_always():
    assert quality.position_bias(quality.rater_share(5, 10)) == 0
    assert quality.position_bias(quality.rater_share(0, 10)) == 1
    assert quality.position_bias(quality.rater_share(0, 0)) is None


def test_variance_is_as_on_five_points_and_entropy_a_share_of_the_greatest():
    on_seven = quality.scale_use([1, 4, 7, 4], width=6, points=7)

    assert on_seven.variance == pytest.approx(np.var([1, 3, 5, 3], ddof=1))
    assert on_seven.entropy == pytest.approx(stats.entropy([0.25, 0.5, 0.25]) / math.log(4))
    always = quality.scale_use([3] * 9, width=4, points=5)
    assert (always.variance, always.entropy) == (0, 0)
    assert quality.scale_use([3], width=4, points=5).variance is None


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize(("n", "length"), [(6, 3), (7, 2), (5, 5), (4, 1)])
def test_the_chance_of_a_run_is_that_of_all_sequences(shares, n, length):
    total = 0.0
    for draw in itertools.product(range(len(shares)), repeat=n):
        if max(len(list(run)) for _, run in itertools.groupby(draw)) >= length:
            total += math.prod(shares[one] for one in draw)

    assert quality.chance_of_run(shares, n=n, length=length) == pytest.approx(total)


def test_a_long_run_of_a_rare_answer_is_unlikely_and_one_of_the_only_answer_certain():
    straight = quality.longest_run([1, 2, 1, 3, 2, *[4] * 12, 1, 2, 3, 1, 2, 3])
    assert (straight.length, straight.n) == (12, 23)
    assert straight.p == pytest.approx(0.0, abs=0.005)
    assert quality.longest_run([3] * 20).p == 1.0
    assert quality.longest_run([]).p is None


def test_speed_sets_the_time_against_the_sound():
    speed = quality.speed(
        [4, 30, 12, float("nan")], sound=[20, 20, 0, 20], heard=[5, 20, float("nan"), float("nan")]
    )

    assert (speed.n, speed.seconds) == (3, 12)
    assert (speed.hasty.hits, speed.hasty.n) == (1, 2)
    assert (speed.heard, speed.n_heard) == (pytest.approx(0.625), 2)


def test_calibration_is_the_gap_and_somers_concordance():
    sure, agrees = [1.0, 0.5, 0.5, 0.0], [1.0, 1.0, 0.0, 0.5]
    found = quality.calibration(sure, agrees)

    assert found.gap == pytest.approx(0.5 - 0.625)
    d = stats.somersd(agrees, sure).statistic
    assert found.discrimination == pytest.approx((d + 1) / 2)


# Against the rest.


def _draw(seed: int, *, values: int, level: str):
    """Units of 1 to 4 of six raters, one of whom is careless."""
    rng = np.random.default_rng(seed)
    rows = []
    for unit in range(60):
        truth = rng.integers(values)
        for rater in rng.permutation(6)[: rng.integers(1, 5)]:
            noise = rng.integers(values) if rater == 5 else truth + (rng.random() < 0.2) * rng.choice([-1, 1])
            rows.append((unit, rater, int(np.clip(noise, 0, values - 1))))
    return np.array(rows).T


def _sums(unit, rater, code, *, values: int, of: int, among=None):
    """Sums of one rater with the others, or with those `among` them."""
    counts = np.zeros((unit.max() + 1, values), dtype=np.int64)
    others = (rater != of) if among is None else np.isin(rater, among) & (rater != of)
    np.add.at(counts, (unit[others], code[others]), 1)
    own = rater == of
    return rater_sums(counts[unit[own]], code[own])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "symmetric"])
def test_rows_of_raters_add_up_to_alpha_and_to_alpha_without_each(level):
    values = 2 if level == "symmetric" else 5
    unit, rater, code = _draw(3, values=values, level=level)
    each = [_sums(unit, rater, code, values=values, of=one) for one in range(6)]
    found = against_the_rest(
        np.array([one.share for one in each]), np.array([one.without for one in each]), np.ones(6),
        np.arange(values, dtype=float), level=level,
    )  # fmt: skip

    patterns = patterns_from_long(unit, code)
    whole = symmetric_alpha(patterns) if level == "symmetric" else krippendorff_alpha(patterns, level=level)
    assert found.alpha == pytest.approx(whole.alpha)
    left_out = one_left_out(unit, rater, code, level=level)
    assert found.without == pytest.approx([one.alpha_without for one in left_out])
    assert [one.equal / one.pairs for one in each] == pytest.approx([one.equal for one in left_out])
    ratings = np.array([one.ratings for one in each])
    assert np.average(found.with_rest, weights=ratings) == pytest.approx(whole.alpha)
    assert found.with_rest.argmin() == 5


def test_a_rater_who_does_not_count_is_compared_with_those_who_do():
    unit, rater, code = _draw(4, values=5, level="interval")
    among = [0, 1, 2, 3, 4]
    each = [_sums(unit, rater, code, values=5, of=one, among=among) for one in range(6)]
    found = against_the_rest(
        np.array([one.share for one in each]), np.array([one.without for one in each]),
        np.array([1, 1, 1, 1, 1, 0]), np.arange(5, dtype=float), level="interval",
    )  # fmt: skip

    kept = rater != 5
    patterns = patterns_from_long(unit[kept], code[kept])
    assert found.alpha == pytest.approx(krippendorff_alpha(patterns, level="interval").alpha)
    assert found.without[5] == pytest.approx(found.alpha)
    assert found.with_rest[5] < 0.3 < found.with_rest[:5].min()


def test_evidence_of_content_is_a_likelihood_ratio():
    """Two units with two others of one mind, both values as frequent: with a concentration of 1, shares of 2.5 / 3 and
    0.5 / 3 of 0.5 overall, and lapses."""
    found = content_evidence(np.array([[2, 0], [0, 2]]), np.array([0, 1]), ordered=False)

    right, wrong = (0.95 * share / 0.5 + 0.05 for share in (2.5 / 3, 0.5 / 3))
    expected = 2 * math.log10(right / ((right + wrong) / 2))
    assert found[CONCENTRATIONS.tolist().index(1.0)] == pytest.approx(expected)
    assert not content_evidence(np.zeros((3, 2), dtype=int), np.array([0, 1, 1]), ordered=False).any()


@pytest.mark.parametrize("ordered", [False, True])
def test_evidence_of_content_tells_attention_from_chance_and_opposition(ordered):
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 60)
    others = np.array([rng.multinomial(5, np.where(np.arange(3) == one, 0.7, 0.15)) for one in truth])
    answers = {
        "attentive": np.where(rng.random(60) < 0.7, truth, rng.integers(0, 3, 60)),
        "random": rng.integers(0, 3, 60),
        "always": np.full(60, 1),
        "opposite": (truth + 1) % 3,
    }
    found = {name: content_evidence(others, one, ordered=ordered) for name, one in answers.items()}
    likely = most_likely_concentration(np.array([found["attentive"]] * 3))

    assert found["attentive"][likely] > 3
    assert found["random"][likely] < -1
    assert abs(found["always"][likely]) < 1.5  # a habit alone is neither: its entropy tells it
    assert ordered or found["opposite"][likely] < -3  # where values are ordered, the next one is nearly right


@pytest.mark.parametrize(("spread", "alpha", "least_recall"), [(0.35, 0.1, 0.0), (1.2, 0.6, 0.7)])
def test_few_good_raters_fall_below_minus_1_however_little_they_agree(spread, alpha, least_recall):
    """40 raters, ten at random, three a task, 40 tasks each, two questions, five seeds."""
    good, random, alphas = [], [], []
    for seed in range(5):
        found = np.zeros(40)
        for question in range(2):
            one, its_alpha = _evidence_of_study(np.random.default_rng([seed, question]), spread)
            found += one[:, most_likely_concentration(one)]
            alphas.append(its_alpha)
        good, random = [*good, *found[10:]], [*random, *found[:10]]

    assert np.mean(alphas) == pytest.approx(alpha, abs=0.1)
    assert np.mean(np.array(good) < -1) <= 0.02
    assert np.mean(np.array(random) < -1) >= least_recall


def _evidence_of_study(rng: np.random.Generator, spread: float) -> tuple[np.ndarray, float]:
    """Three raters per task; the first ten of the raters answer at random. By rater and concentration; and alpha of
    those who do not."""
    rater = np.concatenate([rng.permutation(40) for _ in range(40)])[:1599].reshape(-1, 3)
    worth = rng.normal(0, spread, len(rater))[:, None] + rng.logistic(0, 0.4, rater.shape)
    answer = np.where(rater < 10, rng.integers(0, 3, rater.shape), np.digitize(worth, [-0.25, 0.25]))
    counts = np.stack([(answer == value).sum(axis=1) for value in range(3)], axis=1)
    found = np.zeros((40, len(CONCENTRATIONS)))
    for one in range(40):
        task, place = np.nonzero(rater == one)
        own = answer[task, place]
        others = counts[task].copy()
        others[np.arange(len(own)), own] -= 1
        found[one] = content_evidence(others, own, ordered=False)
    task, place = np.nonzero(rater >= 10)
    return found, krippendorff_alpha(patterns_from_long(task, answer[task, place]), level="ordinal").alpha


# Deviating preference.


def test_the_evidence_is_the_mean_of_two_likelihood_ratios():
    """Three votes for a system that the others prefer half the time: (0.8 / 0.5)^3 and (0.2 / 0.5)^3 by odds of 4."""
    found = preference_deviation([1, 2, 1], [2, 1, 2], [1, 0, 1], [0.5, 0.5, 0.5])

    ratio = (1.6**3 + 0.4**3) / 2
    assert {one.system: one.log10_e for one in found.systems} == pytest.approx(
        {1: math.log10(ratio), 2: math.log10(ratio)}
    )
    assert found.log10_e == pytest.approx(max(0, math.log10(ratio) - math.log10(2)))
    assert [one.favoured for one in found.systems if one.system == 1] == [True]


def test_raters_who_judge_as_the_others_do_rarely_reach_it_and_riggers_do():
    rng = np.random.default_rng(8)
    reached = 0
    for _ in range(300):
        first, chance = rng.integers(0, 4, 80), rng.uniform(0.1, 0.9, 80)
        second = (first + rng.integers(1, 4, 80)) % 4
        found = preference_deviation(first, second, rng.random(80) < chance, chance)
        reached += found.log10_e >= math.log10(1 / 0.05)
    assert reached <= 300 * 0.05 + 8  # binomial noise on top of the bound

    first = np.array([0, 1, 2, 3] * 15)
    second = np.roll(first, 1)
    won = np.where(first == 2, 1, np.where(second == 2, 0, rng.random(60) < 0.5))
    rigged = preference_deviation(first, second, won, np.full(60, 0.5))
    assert rigged.log10_e > 3
    assert (rigged.systems[0].system, rigged.systems[0].favoured) == (2, True)


@pytest.mark.parametrize("n", [12, 40])
def test_few_ratings_reach_it_as_rarely_as_many(n):
    """With mean and spread taken for known from the ratings of the other system, 10 of 100 would with twenty."""
    rng = np.random.default_rng(4)
    reached = [
        shift_deviation(rng.integers(0, 2, n), rng.normal(-1, 0.3, n)).log10_e >= math.log10(20)
        for _ in range(300)
    ]
    assert sum(reached) <= 300 * 0.05 + 8  # binomial noise on top of the bound


def test_evidence_of_a_shift_is_the_ratio_of_t_densities():
    """Of the last rating, where the greatest is: densities of noncentral t by SciPy."""
    x, its = np.array([0.0, 0.4, -0.3, 1.2, 1.9, 2.2]), np.array([0, 0, 0, 1, 1, 1])
    t = stats.ttest_ind(x[3:], x[:3]).statistic
    far = 1 / math.sqrt(2 / 3)
    ratio = sum(stats.nct.pdf(t, 4, side * far) for side in (1, -1)) / 2 / stats.t.pdf(t, 4)
    found = shift_deviation(its, x)
    assert found.systems[0].log10_e == pytest.approx(math.log10(ratio), abs=1e-4)


def test_several_questions_pay_for_each_other():
    one = preference_deviation([1] * 9, [2] * 9, [1] * 9, [0.5] * 9)
    assert most_deviating([one, one]).log10_e == pytest.approx(one.log10_e - math.log10(2))
    assert most_deviating([one, shift_deviation([], [])]) == one


def test_severity_alone_is_no_deviation_but_favour_is():
    rng = np.random.default_rng(9)
    systems = np.tile([1, 2, 3], 20)
    severe = rng.normal(-1.0, 0.5, 60)
    assert shift_deviation(systems, severe).log10_e < 1.3
    favouring = severe + (systems == 3)
    found = shift_deviation(systems, favouring)
    assert (found.log10_e > 2, found.systems[0].system) == (True, 3)


def test_without_votes_nothing_deviates():
    assert preference_deviation([], [], [], []).log10_e == 0
    assert shift_deviation([], []).systems == ()
