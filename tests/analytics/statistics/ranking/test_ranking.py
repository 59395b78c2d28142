"""Values: by hand, by another optimiser on the likelihood written out anew, and by another implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit as logistic

from analytics.statistics.ranking.comparisons import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    Comparisons,
    count_comparisons,
)
from analytics.statistics.ranking.ranking import RankedGroup, RankingSettings, rank_systems

pytestmark = pytest.mark.filterwarnings("error")

Z = 1.959963984540054
# (first shown, second shown): votes for the first, for the second, ties.
TABLE = {
    (0, 1): (12, 7, 5),
    (0, 2): (9, 4, 6),
    (1, 2): (8, 6, 3),
    (2, 3): (10, 5, 4),
    (1, 3): (11, 3, 2),
    (3, 0): (4, 9, 7),
    (2, 0): (3, 6, 1),
}


def counted(table: dict, *, systems: str = "abcd", **more) -> Comparisons:
    rows = [(*pair, outcome, n) for pair, votes in table.items() for outcome, n in enumerate(votes)]
    first, second, outcome, votes = zip(*rows, strict=True)
    return count_comparisons(systems, first, second, outcome, votes=votes, **more)


def ranked(comparisons: Comparisons, **settings) -> RankedGroup:
    (group,) = rank_systems(comparisons, RankingSettings(intervals="wald", **settings)).groups
    return group


def strengths(group: RankedGroup) -> list[float]:
    return [line.strength for line in sorted(group.systems, key=lambda line: line.system)]


def test_three_wins_to_one_are_log_odds_of_log_3():
    group = ranked(counted({(0, 1): (30, 10)}, systems="ab"))

    best = group.systems[0]
    half = Z * math.sqrt(1 / 30 + 1 / 10) / 2
    assert best.strength == pytest.approx(math.log(3) / 2, abs=1e-12)
    assert best.interval == pytest.approx((math.log(3) / 2 - half, math.log(3) / 2 + half), abs=1e-9)
    assert (best.rank, best.rank_interval, best.win_rate) == (1, (1, 1), 0.75)
    assert group.nu is None


def test_ties_do_not_draw_strengths_together():
    group = ranked(counted({(0, 1): (30, 10, 20)}, systems="ab"))

    nu, error = 20 / math.sqrt(300), math.sqrt(1 / 20 + (1 / 30 + 1 / 10) / 4)
    assert strengths(group) == pytest.approx([math.log(3) / 2, -math.log(3) / 2], abs=1e-12)
    assert group.nu.value == pytest.approx(nu, abs=1e-12)
    assert group.nu.interval == pytest.approx((nu * math.exp(-Z * error), nu * math.exp(Z * error)), abs=1e-9)


def test_the_advantage_of_being_shown_first_is_told_apart():
    group = ranked(counted({(0, 1): (30, 10), (1, 0): (20, 20)}, systems="ab"), position=True)

    assert strengths(group)[0] * 2 == pytest.approx(math.log(3) / 2, abs=1e-12)
    assert group.first_shown.value == pytest.approx(math.log(3) / 2, abs=1e-12)
    half = Z * math.sqrt((1 / 30 + 1 / 10 + 1 / 20 + 1 / 20) / 4)
    assert group.first_shown.interval == pytest.approx(
        (math.log(3) / 2 - half, math.log(3) / 2 + half), abs=1e-9
    )


def test_a_ridge_bounds_a_system_that_never_lost():
    group = ranked(counted({(0, 1): (5, 0)}, systems="ab"), ridge=0.1)

    d = strengths(group)[0] - strengths(group)[1]
    # The derivative of 5 log F(d) - 0.1 / 2 * 2 (d / 2)^2.
    assert 5 * logistic(-d) == pytest.approx(0.1 * d / 2, abs=1e-12)


def test_one_margin_is_the_model_of_rao_and_kupper():
    comparisons = counted({(0, 1): (30, 10, 20)}, systems="ab", confidence=[4.0, 4.0, math.nan])

    group = ranked(comparisons, confidence="margin")

    ahead, behind = math.log(30 / 30), math.log(10 / 50)  # F(d - c) = 30/60, F(-d - c) = 10/60
    assert 2 * strengths(group)[0] == pytest.approx((ahead - behind) / 2, abs=1e-12)
    assert group.thresholds[0].value == pytest.approx(-(ahead + behind) / 2, abs=1e-12)


def test_it_agrees_with_evalica():
    # evalica 0.4.2, newman and bradley_terry to a tolerance of 1e-14, on TABLE without its last row; its tie
    # parameter is half of Davidson's. Log scores against their mean.
    table = dict(list(TABLE.items())[:-1])
    tied, decided = (
        ranked(counted(table)),
        ranked(counted({pair: votes[:2] for pair, votes in table.items()})),
    )

    assert strengths(tied) == pytest.approx(
        [0.514731887745028, 0.2457933610655037, -0.0786025206570945, -0.6819227281534372], abs=1e-12
    )
    assert tied.nu.value == pytest.approx(2 * 0.3262497355288687, abs=1e-12)
    assert strengths(decided) == pytest.approx(
        [0.5820134583709543, 0.22558409645944288, -0.09595955930188557, -0.7116379955285115], abs=1e-12
    )


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("position", [False, True])
def test_davidson_maximises_its_likelihood(ridge, position):
    def cost(parameters):
        s, log_nu, lead = np.append(0, parameters[:3]), parameters[3], parameters[4] if position else 0
        s = s - s.mean()
        total = ridge / 2 * (s**2).sum()
        for (i, j), votes in TABLE.items():
            chances = np.exp([(s[i] - s[j] + lead) / 2, (s[j] - s[i] - lead) / 2, log_nu])
            total -= votes @ np.log(chances / chances.sum())
        return total

    best = minimize(cost, np.zeros(4 + position), method="BFGS", options={"gtol": 1e-6}).x

    group = ranked(counted(TABLE), ridge=ridge, position=position)
    expected = np.append(0, best[:3])
    assert strengths(group) == pytest.approx(expected - expected.mean(), abs=1e-5)
    assert group.nu.value == pytest.approx(math.exp(best[3]), abs=1e-5)
    assert (group.first_shown.value if position else 0) == pytest.approx(best[4] if position else 0, abs=1e-5)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("position", [False, True])
def test_ordered_margins_maximise_their_likelihood(ties, position):
    rng = np.random.default_rng(5)
    # y runs from -3 (the second, by far) over 0 (a tie) to 3.
    rows = [(i, j, y, rng.integers(1, 9)) for i, j in TABLE for y in (-3, -2, -1, 0, 1, 2, 3) if y or ties]

    def cost(parameters):
        s, steps = np.append(0, parameters[:3]), np.exp(parameters[3:6])
        lead = parameters[6] if position else 0
        upper = np.cumsum(steps if ties else np.append(0, steps[:2]))
        edges = np.concatenate([[-np.inf], -upper[::-1], upper, [np.inf]])
        if not ties:
            edges = np.unique(edges)
        rank = {y: k for k, y in enumerate(y for y in range(-3, 4) if y or ties)}
        return -sum(
            n / 100 * np.log(logistic(edges[rank[y] + 1] - d) - logistic(edges[rank[y]] - d))
            for i, j, y, n in rows
            for d in [s[i] - s[j] + lead]
        )

    best = minimize(cost, np.zeros(6 + position), method="BFGS", options={"gtol": 1e-7}).x

    first, second, y, votes = map(np.array, zip(*rows, strict=True))
    comparisons = count_comparisons(
        "abcd",
        first,
        second,
        np.select([y > 0, y < 0], [FIRST, SECOND], TIE),
        votes=votes,
        confidence=np.where(y == 0, np.nan, np.abs(y) * 10),
    )
    group = ranked(comparisons, confidence="margin", position=position)
    expected = np.append(0, best[:3])
    thresholds = np.cumsum(np.exp(best[3:6] if ties else best[3:5]))
    assert strengths(group) == pytest.approx(expected - expected.mean(), abs=2e-5)
    assert [figure.value for figure in group.thresholds] == pytest.approx(thresholds, abs=2e-5)
    assert (group.first_shown.value if position else 0) == pytest.approx(best[6] if position else 0, abs=2e-5)


def test_a_weight_of_two_is_two_votes():
    sure = counted(TABLE, confidence=[1.0, 3.0, 1.0] * len(TABLE))
    doubled = counted({pair: (w, 2 * lost, t) for pair, (w, lost, t) in TABLE.items()})

    group = ranked(sure, confidence="weight", weights={1: 1, 3: 2})

    assert strengths(group) == pytest.approx(strengths(ranked(doubled)), abs=1e-12)
    assert group.interval_reason == "weighted"
    assert all(line.interval is None for line in group.systems)


def test_votes_are_weighed_by_their_share_of_the_highest_confidence():
    comparisons = counted(TABLE, confidence=[1.0, 4.0, 2.0] * len(TABLE))

    given = ranked(comparisons, confidence="weight", weights={1: 0.25, 2: 0.5, 4: 1})

    assert strengths(ranked(comparisons, confidence="weight")) == strengths(given)


def test_votes_without_a_confidence_are_left_out_where_it_is_needed():
    table = {(0, 1): (30, 10, 4), (1, 0): (5, 5, 1)}
    comparisons = counted(table, systems="ab", confidence=[2.0, 2.0, math.nan, math.nan, math.nan, math.nan])

    needed = {
        confidence: rank_systems(
            comparisons, RankingSettings(intervals="wald", confidence=confidence)
        ).without_confidence
        for confidence in ("ignore", "weight", "margin")
    }

    assert needed == {"ignore": 0, "weight": 15, "margin": 10}


def test_both_bad_is_counted_and_changes_no_strength():
    plain, bad = counted(TABLE), counted({**TABLE, (0, 3): (0, 0, 0, 40)})

    ranking = rank_systems(bad, RankingSettings(intervals="wald"))

    (group,) = ranking.groups
    assert (ranking.votes, ranking.both_bad) == (plain.votes + 40, 40)
    assert strengths(group) == strengths(ranked(plain))
    assert {line.system: line.both_bad for line in group.systems} == {"a": 40, "b": 0, "c": 0, "d": 40}
    assert [line.win_rate for line in group.systems] == [line.win_rate for line in ranked(plain).systems]


def test_lines_count_wins_losses_and_ties_of_both_sides():
    line = next(line for line in ranked(counted(TABLE)).systems if line.system == "a")

    assert (line.wins, line.losses, line.ties) == (12 + 9 + 9 + 6, 7 + 4 + 4 + 3, 5 + 6 + 7 + 1)
    assert line.win_rate == pytest.approx((36 + 19 / 2) / 73)


TRUTH, LEAD = np.array([1.2, 0.5, 0.0, -0.4, -1.3]), 0.3


def shown(rng, n: int) -> tuple:
    first = rng.integers(5, size=n)
    second = (first + rng.integers(1, 5, size=n)) % 5
    return first, second, TRUTH[first] - TRUTH[second] + LEAD


def test_known_strengths_and_ties_are_found_again():
    rng = np.random.default_rng(11)
    first, second, d = shown(rng, 40_000)
    chances = np.exp(np.stack([d / 2, -d / 2, np.full_like(d, math.log(0.6))]))
    outcome = (rng.random(len(d)) > np.cumsum(chances / chances.sum(axis=0), axis=0)).sum(axis=0)

    group = ranked(count_comparisons("abcde", first, second, outcome), position=True)

    assert strengths(group) == pytest.approx(TRUTH, abs=0.04)
    assert group.first_shown.value == pytest.approx(LEAD, abs=0.04)
    assert group.nu.value == pytest.approx(0.6, abs=0.02)
    assert [(line.system, line.rank) for line in group.systems] == list(
        zip("abcde", range(1, 6), strict=True)
    )


def test_known_margins_are_found_again():
    rng = np.random.default_rng(12)
    first, second, d = shown(rng, 40_000)
    heard = d + rng.logistic(size=len(d))
    outcome = np.select([heard > 0.4, heard < -0.4], [FIRST, SECOND], TIE)
    margin = np.where(outcome == TIE, np.nan, np.digitize(np.abs(heard), [1.0, 2.0]))

    comparisons = count_comparisons("abcde", first, second, outcome, confidence=margin)
    group = ranked(comparisons, confidence="margin", position=True)

    assert strengths(group) == pytest.approx(TRUTH, abs=0.04)
    assert group.first_shown.value == pytest.approx(LEAD, abs=0.04)
    assert [figure.value for figure in group.thresholds] == pytest.approx([0.4, 1.0, 2.0], abs=0.04)


def test_outcomes_have_the_numbers_callers_store():
    assert (FIRST, SECOND, TIE, BOTH_BAD) == (0, 1, 2, 3)
