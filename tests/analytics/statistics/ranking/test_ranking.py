"""Values: by hand, by another optimiser on the likelihood written out anew, and by another implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import expit as logistic
from scipy.stats import kendalltau

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ranking.comparisons import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    Comparisons,
    code_names,
    count_comparisons,
    count_pairs,
)
from analytics.statistics.ranking.ranking import (
    SENTENCES,
    WALD,
    RankedGroup,
    Ranking,
    RankingSettings,
    rank_changes,
    rank_systems,
    replicate_counts,
)

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


def ranking(wins: dict[tuple[int, int], int], systems: str = "abcd") -> Ranking:
    first, second = zip(*wins, strict=True)
    counted = count_comparisons(systems, first, second, [0] * len(wins), votes=list(wins.values()))
    return rank_systems(counted, RankingSettings(intervals=WALD))


# Each system beats the next two times in three.
PLAIN = {(0, 1): 4, (1, 0): 2, (1, 2): 4, (2, 1): 2, (2, 3): 4, (3, 2): 2}


def test_the_same_votes_change_nothing():
    found = rank_changes(ranking(PLAIN), ranking(PLAIN))
    assert (found.tau, found.moved) == (1.0, ())


def test_systems_that_change_places_are_told():
    found = rank_changes(ranking(PLAIN), ranking({**PLAIN, (3, 2): 9}))
    ranks = {one.system: one.ranks for one in found.systems}
    before, after = zip(*ranks.values(), strict=True)
    assert {one.system for one in found.moved} == {
        name for name, (one, other) in ranks.items() if one != other
    }
    assert found.moved
    assert found.tau == pytest.approx(kendalltau(before, after).statistic)


def test_systems_without_strengths_are_not_compared():
    never_lost = {(0, 1): 3, (1, 2): 2, (2, 1): 1}
    found = rank_changes(ranking(PLAIN), ranking(never_lost, "abc"))
    assert (found.systems, found.tau) == ((), None)


def test_without_order_there_is_no_tau():
    even = {(0, 1): 2, (1, 0): 2}
    found = rank_changes(ranking(even, "ab"), ranking(even, "ab"))
    assert [one.ranks for one in found.systems] == [(1, 1), (1, 1)]
    assert found.tau is None


BOTH_WAYS = [(0, 1, FIRST), (0, 1, SECOND)]


def few_votes(
    rows: list[tuple[int, int, int]], *, systems: str, raters=None, by="wald", **settings
) -> Ranking:
    first, second, outcome = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    clusters = None if raters is None else {"rater": raters}
    comparisons = count_comparisons(systems, first, second, outcome, clusters=clusters)
    resampling = Resampling(replicates=50)
    return rank_systems(comparisons, RankingSettings(intervals=by, resampling=resampling, **settings))


@pytest.mark.parametrize("by", ["wald", "votes", "rater"])
@pytest.mark.parametrize("systems", ["", "a", "ab"])
def test_without_votes_every_system_stands_alone(systems, by):
    found = few_votes([], systems=systems, raters=[], by=by)

    assert [group.reason for group in found.groups] == ["no_comparisons"] * len(systems)
    assert all(
        line.strength is line.win_rate is line.rank is None for g in found.groups for line in g.systems
    )


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(0, 1, FIRST)] * 5, "separated"),
        ([(0, 1, FIRST), (1, 0, SECOND)], "separated"),
        ([(0, 1, FIRST)] * 5 + [(0, 1, TIE)] * 3, "separated"),
        ([*BOTH_WAYS, (0, 2, FIRST), (1, 2, FIRST)], "separated"),
        ([*BOTH_WAYS, (0, 2, FIRST)] * 100_000, "separated"),
        ([(0, 1, TIE)] * 4, "only_ties"),
    ],
)
def test_strengths_without_a_bound_are_none_and_not_large(rows, reason):
    systems = "abc"[: 1 + max(max(row[:2]) for row in rows)]

    (group,) = few_votes(rows, systems=systems).groups

    assert group.reason == reason
    assert all(
        line.strength is line.interval is line.rank is line.rank_interval is None for line in group.systems
    )
    assert all(line.win_rate is not None for line in group.systems)


def has_a_maximum(rows: list[tuple[int, int, int]], *, n: int, position: bool) -> bool:
    """Whether the likelihood falls in every direction: none makes every outcome seen the likeliest in the end.

    A direction is one of n strengths, of what being shown first is worth, and of the log of nu.
    """

    def logit(first: int, second: int, outcome: int) -> np.ndarray:
        weights = np.zeros(n + 2)
        if outcome == TIE:
            weights[n + 1] = 1
        else:
            weights[[first, second, n]] = np.array([0.5, -0.5, 0.5 * position]) * (
                1 if outcome == FIRST else -1
            )
        return weights

    outcomes = [FIRST, SECOND, *{o for *_, o in rows if o == TIE}]
    gains = np.array(
        [logit(a, b, other) - logit(a, b, o) for a, b, o in rows for other in outcomes if other != o]
    )
    best = linprog(gains.sum(axis=0), A_ub=gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1))
    return bool(best.fun > -1e-9)


def test_strengths_are_given_exactly_where_the_likelihood_has_a_maximum():
    rng, found = np.random.default_rng(0), []
    for _ in range(120):
        n, votes, position = rng.integers(2, 5), rng.integers(4, 14), bool(rng.integers(2))
        first = rng.integers(n, size=votes)
        second = (first + rng.integers(1, n, size=votes)) % n
        outcome = rng.choice(3, size=votes, p=[0.45, 0.25, 0.3])
        rows = np.stack([first, second, outcome], axis=1).tolist()
        groups = few_votes(rows, systems="abcd"[:n], position=position).groups
        if len(groups) == 1 and groups[0].reason not in ("undetermined", "only_ties"):
            assert (groups[0].reason is None) == has_a_maximum(rows, n=n, position=position)
            found.append(groups[0].reason)

    assert min(found.count(None), found.count("separated")) > 25


def test_systems_that_never_lost_are_named_by_block():
    rows = [*BOTH_WAYS, (0, 2, FIRST), (3, 1, SECOND), (3, 2, TIE)]

    (group,) = few_votes(rows, systems="abcd").groups

    assert group.blocks == (("a", "b"), ("c", "d"))


def test_a_ridge_gives_strengths_and_says_how_large_it_is():
    found = few_votes([(0, 1, FIRST)] * 5, systems="ab", ridge=1e-6)

    (group,) = found.groups
    assert (group.reason, group.systems[0].system, found.settings.ridge) == (None, "a", 1e-6)
    assert group.systems[0].strength > 5


def test_groups_that_were_never_compared_are_ranked_apart():
    rows = [*BOTH_WAYS, (0, 1, FIRST), *((2 + a, 2 + b, o) for a, b, o in BOTH_WAYS), (0, 4, BOTH_BAD)]

    found = few_votes(rows, systems="abcde")

    assert found.reason == "disconnected"
    assert [[line.system for line in group.systems] for group in found.groups] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]
    assert [[line.rank for line in group.systems] for group in found.groups] == [[1, 2], [1, 1], [None]]
    assert [group.reason for group in found.groups] == [None, None, "no_comparisons"]
    assert found.groups[2].systems[0].both_bad == 1


def test_a_pair_shown_in_one_order_says_nothing_of_the_order():
    (group,) = few_votes(BOTH_WAYS * 5, systems="ab", position=True).groups

    assert group.reason == "undetermined"


def test_a_side_that_always_wins_is_separated_too():
    (group,) = few_votes([(0, 1, FIRST), (1, 0, FIRST)] * 5, systems="ab", position=True, ridge=0.1).groups

    assert group.reason == "separated"


def test_one_rater_gives_strengths_without_intervals():
    (group,) = few_votes(BOTH_WAYS, systems="ab", raters=[7, 7], by="rater").groups

    assert group.interval_reason == "one_cluster"
    assert group.systems[0].strength == 0
    assert group.systems[0].interval is group.systems[0].win_rate_interval is None


def test_intervals_are_refused_where_most_resamples_are_undefined():
    rows = [(a + k, b + k, outcome) for k in range(5) for a, b, outcome in BOTH_WAYS]

    # Each rater judged a pair of their own: without any one of them the systems fall apart.
    (group,) = few_votes(rows, systems="abcdef", raters=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], by="rater").groups

    assert group.interval_reason == "mostly_undefined"
    assert group.degenerate > 25
    assert all(line.strength == 0 and line.interval is None for line in group.systems)


def test_more_systems_than_can_be_solved_for_are_refused():
    rows = [(0, k, outcome) for k in range(1, 501) for outcome in (FIRST, SECOND)]

    (group,) = few_votes(rows, systems=[f"s{k}" for k in range(501)]).groups

    assert group.reason == "too_many"


def test_every_reason_has_a_sentence():
    assert {"no_comparisons", "only_ties", "separated", "undetermined", "disconnected", "too_many"} <= set(
        SENTENCES
    )
    assert {"one_cluster", "mostly_undefined", "weighted"} <= set(SENTENCES)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"by": "prompt"}, "known are votes, rater"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": float("nan")}, "ridge"),
        ({"confidence": "margins"}, "margins"),
        ({"weights": {1: 1}}, "not used as a weight"),
    ],
)
def test_senseless_settings_are_refused_by_name(how, words):
    with pytest.raises(ValueError, match=words):
        few_votes(BOTH_WAYS, systems="ab", raters=[0, 1], **how)


@pytest.mark.parametrize("weights", [{1: 1}, {1: 1, 2: -1}, {1: 1, 2: float("inf")}])
def test_weights_are_complete_finite_and_not_negative(weights):
    comparisons = count_comparisons("ab", [0, 0], [1, 1], [FIRST, SECOND], confidence=[1, 2])

    with pytest.raises(ValueError, match="weight"):
        rank_systems(comparisons, RankingSettings("wald", confidence="weight", weights=weights))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([0], [0], [FIRST]), "compared with itself"),
        (([0], [2], [FIRST]), "outside 0 to 1"),
        (([0], [1], [4]), "outcome"),
        (([0, 1], [1], [FIRST]), "as many rows"),
        (([0.5], [1], [FIRST]), "whole numbers"),
    ],
)
def test_rows_that_are_no_comparison_are_refused(columns, words):
    with pytest.raises(ValueError, match=words):
        count_comparisons("ab", *columns)


NAMES = ("a", "b", "c", "d")
# First shown, second shown (never the same), outcome, confidence, rater.
vote = st.tuples(
    st.integers(0, 3),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([1.0, 2.0, 5.0]),
    st.integers(0, 4),
).map(lambda v: (v[0], (v[0] + v[1]) % 4, *v[2:]))
votes = st.lists(vote, min_size=12, max_size=60)
ways = st.builds(
    dict,
    intervals=st.sampled_from(["wald", "votes", "rater"]),
    confidence=st.sampled_from(["ignore", "weight", "margin"]),
    position=st.booleans(),
    ridge=st.sampled_from([0.0, 0.5]),
)


def ranking_of_rows(rows, *, systems=NAMES, times: int = 1, **how) -> Ranking:
    first, second, outcome, confidence, rater = (np.array(column) for column in zip(*rows, strict=True))
    comparisons = count_comparisons(
        systems,
        first,
        second,
        outcome,
        confidence=confidence,
        clusters={"rater": rater},
        votes=np.full(len(rows), times),
    )
    return rank_systems(comparisons, RankingSettings(resampling=Resampling(replicates=8), **how))


def strengths_by_system(found: Ranking) -> dict[str, float]:
    values = {line.system: line.strength for group in found.groups for line in group.systems}
    assume(all(value is not None for value in values.values()))
    return values


@settings(max_examples=20, deadline=None)
@given(votes, ways, st.randoms(use_true_random=False))
def test_the_order_of_votes_changes_no_bit(rows, how, shuffle):
    assert ranking_of_rows(shuffle.sample(rows, len(rows)), **how) == ranking_of_rows(rows, **how)


@settings(max_examples=15, deadline=None)
@given(votes, st.permutations(range(4)), st.booleans())
def test_strengths_do_not_depend_on_how_systems_are_numbered(rows, place, position):
    renumbered = [(place[a], place[b], *rest) for a, b, *rest in rows]
    names = [NAMES[place.index(number)] for number in range(4)]

    plain = strengths_by_system(ranking_of_rows(rows, intervals="wald", position=position))

    assert strengths_by_system(
        ranking_of_rows(renumbered, systems=names, intervals="wald", position=position)
    ) == pytest.approx(plain, abs=1e-8)


@settings(max_examples=15, deadline=None)
@given(votes, st.sampled_from(["ignore", "margin"]))
def test_showing_pairs_the_other_way_round_turns_the_position_effect_alone(rows, confidence):
    turned = [(b, a, {FIRST: SECOND, SECOND: FIRST}.get(o, o), *rest) for a, b, o, *rest in rows]

    assert ranking_of_rows(turned, intervals="wald", confidence=confidence).groups == (
        ranking_of_rows(rows, intervals="wald", confidence=confidence).groups
    )
    one, other = (
        ranking_of_rows(table, intervals="wald", confidence=confidence, position=True)
        for table in (rows, turned)
    )
    assert strengths_by_system(other) == pytest.approx(strengths_by_system(one), abs=1e-8)
    assert other.groups[0].first_shown.value == pytest.approx(-one.groups[0].first_shown.value, abs=1e-8)


@settings(max_examples=15, deadline=None)
@given(votes, st.integers(2, 1000), st.sampled_from(["ignore", "margin"]))
def test_more_of_the_same_votes_narrows_intervals_by_the_root(rows, times, confidence):
    once = ranking_of_rows(rows, intervals="wald", confidence=confidence)
    often = ranking_of_rows(rows, intervals="wald", confidence=confidence, times=times)

    assert strengths_by_system(often) == pytest.approx(strengths_by_system(once), abs=1e-8)
    for one, many in zip(once.groups[0].systems, often.groups[0].systems, strict=True):
        narrowed = (one.interval[1] - one.interval[0]) / times**0.5
        assert many.interval[1] - many.interval[0] == pytest.approx(narrowed, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(votes, st.floats(0.01, 100))
def test_weights_count_against_each_other_alone(rows, factor):
    weights = {1.0: 0.2, 2.0: 0.5, 5.0: 1.0}
    scaled = {level: factor * weight for level, weight in weights.items()}

    plain, other = (
        ranking_of_rows(rows, intervals="wald", confidence="weight", weights=some)
        for some in (weights, scaled)
    )

    assert strengths_by_system(other) == pytest.approx(strengths_by_system(plain), abs=1e-7)


def test_raters_may_be_numbered_by_any_ascending_keys():
    rows = [(a, b, o, 1.0, rater) for rater in range(3) for a, b, o in [(0, 1, 0), (0, 1, 1), (2, 3, rater)]]
    keyed = [(*row[:4], [5, 70, 10**12][row[4]]) for row in rows]

    assert ranking_of_rows(keyed, intervals="rater").groups == ranking_of_rows(rows, intervals="rater").groups


def test_names_are_numbered_in_their_own_order():
    names, numbers = code_names(["dog", "ape", "dog", "cow"])

    assert names == ("ape", "cow", "dog")
    assert numbers.tolist() == [2, 0, 2, 1]


SYSTEMS = ["ape", "bat", "cow", "dog"]


def voted(*, seed: int, n: int = 3000, raters: int = 60, taste: float = 0.0, spread: float = 1.0) -> tuple:
    """Columns of votes; each rater likes each system a little more or less than others do."""
    rng = np.random.default_rng(seed)
    liked = spread * np.linspace(0.9, -0.9, 4) + taste * rng.normal(size=(raters, 4))
    rater, first = rng.integers(raters, size=n), rng.integers(4, size=n)
    second = (first + rng.integers(1, 4, size=n)) % 4
    heard = liked[rater, first] - liked[rater, second] + rng.logistic(size=n)
    return first, second, np.select([heard > 0.3, heard < -0.3], [FIRST, SECOND], TIE), rater


def clustered_votes(first, second, outcome, rater) -> Comparisons:
    prompt = np.arange(len(rater)) // 3
    return count_comparisons(SYSTEMS, first, second, outcome, clusters={"rater": rater, "prompt": prompt})


def ranked_by(comparisons: Comparisons, by: str, *, replicates: int = 300, **settings) -> RankedGroup:
    resampling = Resampling(seed=3, replicates=replicates)
    ranking = rank_systems(comparisons, RankingSettings(intervals=by, resampling=resampling, **settings))
    return ranking.groups[0]


def width(group: RankedGroup) -> float:
    return float(np.mean([line.interval[1] - line.interval[0] for line in group.systems]))


def test_a_replicate_is_the_count_of_the_drawn_raters_votes():
    first, second, outcome, rater = voted(seed=1, n=200, raters=9)
    comparisons = clustered_votes(first, second, outcome, rater)

    (pieces,) = replicate_counts(comparisons, by="rater", resampling=Resampling(seed=4, replicates=5))

    drawn = np.random.default_rng(4).integers(9, size=(5, 9))
    for row, raters in zip(pieces, drawn, strict=True):
        votes = np.concatenate([np.flatnonzero(rater == one) for one in raters])
        again = clustered_votes(first[votes], second[votes], outcome[votes], rater[votes])
        cells = {
            (a, b, o): n
            for a, b, o, n in zip(
                comparisons.first, comparisons.second, comparisons.outcome, row, strict=True
            )
            if n
        }
        assert cells == dict(
            zip(zip(again.first, again.second, again.outcome, strict=True), again.count, strict=True)
        )


def test_resampled_votes_are_as_uncertain_as_the_information_says():
    comparisons = clustered_votes(*voted(seed=2))

    assert width(ranked_by(comparisons, "votes")) == pytest.approx(
        width(ranked_by(comparisons, "wald")), rel=0.15
    )


def test_raters_of_one_mind_are_independent_votes():
    comparisons = clustered_votes(*voted(seed=3, raters=150))

    assert width(ranked_by(comparisons, "rater")) == pytest.approx(
        width(ranked_by(comparisons, "votes")), rel=0.2
    )


def test_raters_of_different_tastes_widen_the_interval():
    comparisons = clustered_votes(*voted(seed=4, raters=40, taste=1.0))

    by_rater, by_vote = (
        ranked_by(comparisons, "rater"),
        ranked_by(comparisons, "votes"),
    )

    assert width(by_rater) > 2 * width(by_vote)
    assert [line.strength for line in by_rater.systems] == [line.strength for line in by_vote.systems]


def test_clustered_intervals_cover_the_truth_where_independent_ones_do_not():
    def covered(by: str) -> int:
        # All systems are equally good to the average rater.
        groups = [
            ranked_by(
                clustered_votes(*voted(seed=seed, n=1500, raters=40, taste=1.2, spread=0)),
                by,
                replicates=120,
            )
            for seed in range(25)
        ]
        return sum(line.interval[0] <= 0 <= line.interval[1] for group in groups for line in group.systems)

    assert covered("rater") >= 85
    assert covered("wald") < 70


def test_rank_intervals_hold_the_rank_and_know_what_is_certain():
    for by in ("wald", "votes", "rater", "prompt"):
        certain = ranked_by(clustered_votes(*voted(seed=5)), by)
        open_ = ranked_by(clustered_votes(*voted(seed=5, spread=0.02)), by)

        assert [line.rank_interval for line in certain.systems] == [(k, k) for k in (1, 2, 3, 4)]
        assert all(line.rank_interval[0] <= line.rank <= line.rank_interval[1] for line in open_.systems)
        assert max(high - low for low, high in (line.rank_interval for line in open_.systems)) >= 2


def test_the_same_seed_gives_the_same_ranking_and_another_another():
    comparisons = clustered_votes(*voted(seed=6, n=400))

    def drawn(seed: int):
        return rank_systems(comparisons, RankingSettings("rater", resampling=Resampling(seed, replicates=40)))

    assert drawn(1) == drawn(1)
    assert drawn(1).groups[0].systems[0].interval != drawn(2).groups[0].systems[0].interval


def test_replicates_are_the_same_in_pieces_of_any_size(monkeypatch):
    comparisons = clustered_votes(*voted(seed=7, n=600))

    for by in ("votes", "rater", "prompt"):
        whole = ranked_by(comparisons, by, replicates=30)
        monkeypatch.setattr("analytics.statistics.ranking.ranking._CELLS", 100)
        monkeypatch.setattr("analytics.statistics.bootstrap._CELLS", 100)
        assert ranked_by(comparisons, by, replicates=30) == whole
        monkeypatch.undo()


def test_replicates_without_ties_have_a_tie_parameter_of_zero():
    rows = [(0, 1, FIRST)] * 12 + [(0, 1, SECOND)] * 12 + [(0, 1, TIE)]
    comparisons = count_comparisons("ab", *zip(*rows, strict=True))

    group = ranked_by(comparisons, "votes")

    assert group.nu.interval[0] == 0
    assert group.degenerate == 0


def test_margins_and_position_have_intervals_by_rater():
    first, second, outcome, rater = voted(seed=8)
    confidence = 1 + (np.arange(len(first)) % 3)
    comparisons = count_comparisons(
        SYSTEMS, first, second, outcome, confidence=confidence, clusters={"rater": rater}
    )

    group = ranked_by(comparisons, "rater", replicates=60, confidence="margin", position=True)

    assert len(group.thresholds) == 3
    for figure in (*group.thresholds, group.first_shown):
        assert figure.interval[0] < figure.value < figure.interval[1]
    assert group.first_shown.interval[0] < 0 < group.first_shown.interval[1]


def test_win_rates_have_the_interval_of_the_drawn_clusters():
    comparisons = count_comparisons(
        "ab", [0] * 40, [1] * 40, [FIRST, SECOND] * 20, clusters={"rater": np.repeat(np.arange(5), 8)}
    )

    # Every rater is split in halves, so whoever is drawn, the rate is a half.
    assert {line.win_rate_interval for line in ranked_by(comparisons, "rater").systems} == {(0.5, 0.5)}
    low, high = ranked_by(comparisons, "votes").systems[0].win_rate_interval
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(0.25 / 40), rel=0.2)


def test_pairs_fold_both_orders_together():
    comparisons = count_comparisons(
        "ba", [0, 1, 1, 0, 1], [1, 0, 0, 1, 0], [FIRST, FIRST, SECOND, 3, TIE], votes=[5, 4, 3, 2, 1]
    )

    (pair,) = count_pairs(comparisons)

    assert (pair.one, pair.other, pair.one_wins, pair.other_wins) == ("b", "a", 8, 4)
    assert (pair.ties, pair.both_bad, pair.shown_first) == (1, 2, 7)
    assert pair.share == pytest.approx(8 / 12)
