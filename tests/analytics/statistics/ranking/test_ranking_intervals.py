from __future__ import annotations

import math

import numpy as np
import pytest

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ranking.comparisons import (
    FIRST,
    SECOND,
    TIE,
    Comparisons,
    count_comparisons,
    count_pairs,
)
from analytics.statistics.ranking.ranking import RankedGroup, RankingSettings, rank_systems, replicate_counts

pytestmark = pytest.mark.filterwarnings("error")

SYSTEMS = ["ape", "bat", "cow", "dog"]


def voted(*, seed: int, n: int = 3000, raters: int = 60, taste: float = 0.0, spread: float = 1.0) -> tuple:
    """Columns of votes; each rater likes each system a little more or less than others do."""
    rng = np.random.default_rng(seed)
    liked = spread * np.linspace(0.9, -0.9, 4) + taste * rng.normal(size=(raters, 4))
    rater, first = rng.integers(raters, size=n), rng.integers(4, size=n)
    second = (first + rng.integers(1, 4, size=n)) % 4
    heard = liked[rater, first] - liked[rater, second] + rng.logistic(size=n)
    return first, second, np.select([heard > 0.3, heard < -0.3], [FIRST, SECOND], TIE), rater


def counted(first, second, outcome, rater) -> Comparisons:
    prompt = np.arange(len(rater)) // 3
    return count_comparisons(SYSTEMS, first, second, outcome, clusters={"rater": rater, "prompt": prompt})


def ranked(comparisons: Comparisons, by: str, *, replicates: int = 300, **settings) -> RankedGroup:
    resampling = Resampling(seed=3, replicates=replicates)
    ranking = rank_systems(comparisons, RankingSettings(intervals=by, resampling=resampling, **settings))
    return ranking.groups[0]


def width(group: RankedGroup) -> float:
    return float(np.mean([line.interval[1] - line.interval[0] for line in group.systems]))


def test_a_replicate_is_the_count_of_the_drawn_raters_votes():
    first, second, outcome, rater = voted(seed=1, n=200, raters=9)
    comparisons = counted(first, second, outcome, rater)

    (pieces,) = replicate_counts(comparisons, by="rater", resampling=Resampling(seed=4, replicates=5))

    drawn = np.random.default_rng(4).integers(9, size=(5, 9))
    for row, raters in zip(pieces, drawn, strict=True):
        votes = np.concatenate([np.flatnonzero(rater == one) for one in raters])
        again = counted(first[votes], second[votes], outcome[votes], rater[votes])
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
    comparisons = counted(*voted(seed=2))

    assert width(ranked(comparisons, "votes")) == pytest.approx(width(ranked(comparisons, "wald")), rel=0.15)


def test_raters_of_one_mind_are_independent_votes():
    comparisons = counted(*voted(seed=3, raters=150))

    assert width(ranked(comparisons, "rater")) == pytest.approx(width(ranked(comparisons, "votes")), rel=0.2)


def test_raters_of_different_tastes_widen_the_interval():
    comparisons = counted(*voted(seed=4, raters=40, taste=1.0))

    by_rater, by_vote = ranked(comparisons, "rater"), ranked(comparisons, "votes")

    assert width(by_rater) > 2 * width(by_vote)
    assert [line.strength for line in by_rater.systems] == [line.strength for line in by_vote.systems]


def test_clustered_intervals_cover_the_truth_where_independent_ones_do_not():
    def covered(by: str) -> int:
        # All systems are equally good to the average rater.
        groups = [
            ranked(counted(*voted(seed=seed, n=1500, raters=40, taste=1.2, spread=0)), by, replicates=120)
            for seed in range(25)
        ]
        return sum(line.interval[0] <= 0 <= line.interval[1] for group in groups for line in group.systems)

    assert covered("rater") >= 85
    assert covered("wald") < 70


def test_rank_intervals_hold_the_rank_and_know_what_is_certain():
    for by in ("wald", "votes", "rater", "prompt"):
        certain = ranked(counted(*voted(seed=5)), by)
        open_ = ranked(counted(*voted(seed=5, spread=0.02)), by)

        assert [line.rank_interval for line in certain.systems] == [(k, k) for k in (1, 2, 3, 4)]
        assert all(line.rank_interval[0] <= line.rank <= line.rank_interval[1] for line in open_.systems)
        assert max(high - low for low, high in (line.rank_interval for line in open_.systems)) >= 2


def test_the_same_seed_gives_the_same_ranking_and_another_another():
    comparisons = counted(*voted(seed=6, n=400))

    def drawn(seed: int):
        return rank_systems(comparisons, RankingSettings("rater", resampling=Resampling(seed, replicates=40)))

    assert drawn(1) == drawn(1)
    assert drawn(1).groups[0].systems[0].interval != drawn(2).groups[0].systems[0].interval


def test_replicates_are_the_same_in_pieces_of_any_size(monkeypatch):
    comparisons = counted(*voted(seed=7, n=600))

    for by in ("votes", "rater", "prompt"):
        whole = ranked(comparisons, by, replicates=30)
        monkeypatch.setattr("analytics.statistics.ranking.ranking._CELLS", 100)
        monkeypatch.setattr("analytics.statistics.bootstrap._CELLS", 100)
        assert ranked(comparisons, by, replicates=30) == whole
        monkeypatch.undo()


def test_replicates_without_ties_have_a_tie_parameter_of_zero():
    rows = [(0, 1, FIRST)] * 12 + [(0, 1, SECOND)] * 12 + [(0, 1, TIE)]
    comparisons = count_comparisons("ab", *zip(*rows, strict=True))

    group = ranked(comparisons, "votes")

    assert group.nu.interval[0] == 0
    assert group.degenerate == 0


def test_margins_and_position_have_intervals_by_rater():
    first, second, outcome, rater = voted(seed=8)
    confidence = 1 + (np.arange(len(first)) % 3)
    comparisons = count_comparisons(
        SYSTEMS, first, second, outcome, confidence=confidence, clusters={"rater": rater}
    )

    group = ranked(comparisons, "rater", replicates=60, confidence="margin", position=True)

    assert len(group.thresholds) == 3
    for figure in (*group.thresholds, group.first_shown):
        assert figure.interval[0] < figure.value < figure.interval[1]
    assert group.first_shown.interval[0] < 0 < group.first_shown.interval[1]


def test_win_rates_have_the_interval_of_the_drawn_clusters():
    comparisons = count_comparisons(
        "ab", [0] * 40, [1] * 40, [FIRST, SECOND] * 20, clusters={"rater": np.repeat(np.arange(5), 8)}
    )

    # Every rater is split in halves, so whoever is drawn, the rate is a half.
    assert {line.win_rate_interval for line in ranked(comparisons, "rater").systems} == {(0.5, 0.5)}
    low, high = ranked(comparisons, "votes").systems[0].win_rate_interval
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(0.25 / 40), rel=0.2)


def test_pairs_fold_both_orders_together():
    comparisons = count_comparisons(
        "ba", [0, 1, 1, 0, 1], [1, 0, 0, 1, 0], [FIRST, FIRST, SECOND, 3, TIE], votes=[5, 4, 3, 2, 1]
    )

    (pair,) = count_pairs(comparisons)

    assert (pair.one, pair.other, pair.one_wins, pair.other_wins) == ("b", "a", 8, 4)
    assert (pair.ties, pair.both_bad, pair.shown_first) == (1, 2, 7)
    assert pair.share == pytest.approx(8 / 12)
