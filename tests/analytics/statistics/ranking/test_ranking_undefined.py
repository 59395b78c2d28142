from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ranking.comparisons import BOTH_BAD, FIRST, SECOND, TIE, count_comparisons
from analytics.statistics.ranking.ranking import SENTENCES, Ranking, RankingSettings, rank_systems

pytestmark = pytest.mark.filterwarnings("error")

BOTH_WAYS = [(0, 1, FIRST), (0, 1, SECOND)]


def ranking(rows: list[tuple[int, int, int]], *, systems: str, raters=None, by="wald", **settings) -> Ranking:
    first, second, outcome = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    clusters = None if raters is None else {"rater": raters}
    comparisons = count_comparisons(systems, first, second, outcome, clusters=clusters)
    resampling = Resampling(replicates=50)
    return rank_systems(comparisons, RankingSettings(intervals=by, resampling=resampling, **settings))


@pytest.mark.parametrize("by", ["wald", "votes", "rater"])
@pytest.mark.parametrize("systems", ["", "a", "ab"])
def test_without_votes_every_system_stands_alone(systems, by):
    found = ranking([], systems=systems, raters=[], by=by)

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

    (group,) = ranking(rows, systems=systems).groups

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
        groups = ranking(rows, systems="abcd"[:n], position=position).groups
        if len(groups) == 1 and groups[0].reason not in ("undetermined", "only_ties"):
            assert (groups[0].reason is None) == has_a_maximum(rows, n=n, position=position)
            found.append(groups[0].reason)

    assert min(found.count(None), found.count("separated")) > 25


def test_systems_that_never_lost_are_named_by_block():
    rows = [*BOTH_WAYS, (0, 2, FIRST), (3, 1, SECOND), (3, 2, TIE)]

    (group,) = ranking(rows, systems="abcd").groups

    assert group.blocks == (("a", "b"), ("c", "d"))


def test_a_ridge_gives_strengths_and_says_how_large_it_is():
    found = ranking([(0, 1, FIRST)] * 5, systems="ab", ridge=1e-6)

    (group,) = found.groups
    assert (group.reason, group.systems[0].system, found.settings.ridge) == (None, "a", 1e-6)
    assert group.systems[0].strength > 5


def test_groups_that_were_never_compared_are_ranked_apart():
    rows = [*BOTH_WAYS, (0, 1, FIRST), *((2 + a, 2 + b, o) for a, b, o in BOTH_WAYS), (0, 4, BOTH_BAD)]

    found = ranking(rows, systems="abcde")

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
    (group,) = ranking(BOTH_WAYS * 5, systems="ab", position=True).groups

    assert group.reason == "undetermined"


def test_a_side_that_always_wins_is_separated_too():
    (group,) = ranking([(0, 1, FIRST), (1, 0, FIRST)] * 5, systems="ab", position=True, ridge=0.1).groups

    assert group.reason == "separated"


def test_one_rater_gives_strengths_without_intervals():
    (group,) = ranking(BOTH_WAYS, systems="ab", raters=[7, 7], by="rater").groups

    assert group.interval_reason == "one_cluster"
    assert group.systems[0].strength == 0
    assert group.systems[0].interval is group.systems[0].win_rate_interval is None


def test_intervals_are_refused_where_most_resamples_are_undefined():
    rows = [(a + k, b + k, outcome) for k in range(5) for a, b, outcome in BOTH_WAYS]

    # Each rater judged a pair of their own: without any one of them the systems fall apart.
    (group,) = ranking(rows, systems="abcdef", raters=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], by="rater").groups

    assert group.interval_reason == "mostly_undefined"
    assert group.degenerate > 25
    assert all(line.strength == 0 and line.interval is None for line in group.systems)


def test_more_systems_than_can_be_solved_for_are_refused():
    rows = [(0, k, outcome) for k in range(1, 501) for outcome in (FIRST, SECOND)]

    (group,) = ranking(rows, systems=[f"s{k}" for k in range(501)]).groups

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
        ranking(BOTH_WAYS, systems="ab", raters=[0, 1], **how)


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
