from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ranking.comparisons import FIRST, SECOND, code_names, count_comparisons
from analytics.statistics.ranking.ranking import Ranking, RankingSettings, rank_systems

pytestmark = pytest.mark.filterwarnings("error")

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


def ranking(rows, *, systems=NAMES, times: int = 1, **how) -> Ranking:
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


def strengths(found: Ranking) -> dict[str, float]:
    values = {line.system: line.strength for group in found.groups for line in group.systems}
    assume(all(value is not None for value in values.values()))
    return values


@settings(max_examples=20, deadline=None)
@given(votes, ways, st.randoms(use_true_random=False))
def test_the_order_of_votes_changes_no_bit(rows, how, shuffle):
    assert ranking(shuffle.sample(rows, len(rows)), **how) == ranking(rows, **how)


@settings(max_examples=15, deadline=None)
@given(votes, st.permutations(range(4)), st.booleans())
def test_strengths_do_not_depend_on_how_systems_are_numbered(rows, place, position):
    renumbered = [(place[a], place[b], *rest) for a, b, *rest in rows]
    names = [NAMES[place.index(number)] for number in range(4)]

    plain = strengths(ranking(rows, intervals="wald", position=position))

    assert strengths(
        ranking(renumbered, systems=names, intervals="wald", position=position)
    ) == pytest.approx(plain, abs=1e-8)


@settings(max_examples=15, deadline=None)
@given(votes, st.sampled_from(["ignore", "margin"]))
def test_showing_pairs_the_other_way_round_turns_the_position_effect_alone(rows, confidence):
    turned = [(b, a, {FIRST: SECOND, SECOND: FIRST}.get(o, o), *rest) for a, b, o, *rest in rows]

    assert ranking(turned, intervals="wald", confidence=confidence).groups == (
        ranking(rows, intervals="wald", confidence=confidence).groups
    )
    one, other = (
        ranking(table, intervals="wald", confidence=confidence, position=True) for table in (rows, turned)
    )
    assert strengths(other) == pytest.approx(strengths(one), abs=1e-8)
    assert other.groups[0].first_shown.value == pytest.approx(-one.groups[0].first_shown.value, abs=1e-8)


@settings(max_examples=15, deadline=None)
@given(votes, st.integers(2, 1000), st.sampled_from(["ignore", "margin"]))
def test_more_of_the_same_votes_narrows_intervals_by_the_root(rows, times, confidence):
    once = ranking(rows, intervals="wald", confidence=confidence)
    often = ranking(rows, intervals="wald", confidence=confidence, times=times)

    assert strengths(often) == pytest.approx(strengths(once), abs=1e-8)
    for one, many in zip(once.groups[0].systems, often.groups[0].systems, strict=True):
        narrowed = (one.interval[1] - one.interval[0]) / times**0.5
        assert many.interval[1] - many.interval[0] == pytest.approx(narrowed, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(votes, st.floats(0.01, 100))
def test_weights_count_against_each_other_alone(rows, factor):
    weights = {1.0: 0.2, 2.0: 0.5, 5.0: 1.0}
    scaled = {level: factor * weight for level, weight in weights.items()}

    plain, other = (
        ranking(rows, intervals="wald", confidence="weight", weights=some) for some in (weights, scaled)
    )

    assert strengths(other) == pytest.approx(strengths(plain), abs=1e-7)


def test_raters_may_be_numbered_by_any_ascending_keys():
    rows = [(a, b, o, 1.0, rater) for rater in range(3) for a, b, o in [(0, 1, 0), (0, 1, 1), (2, 3, rater)]]
    keyed = [(*row[:4], [5, 70, 10**12][row[4]]) for row in rows]

    assert ranking(keyed, intervals="rater").groups == ranking(rows, intervals="rater").groups


def test_names_are_numbered_in_their_own_order():
    names, numbers = code_names(["dog", "ape", "dog", "cow"])

    assert names == ("ape", "cow", "dog")
    assert numbers.tolist() == [2, 0, 2, 1]
