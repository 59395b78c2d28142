from __future__ import annotations

import re

import numpy as np
import pytest

from annotation.demo.clips import Comparison, load_prompts, make_comparisons
from annotation.demo.raters import (
    RATERS,
    Rater,
    allocate,
    choose,
    draw_rater,
    evidence,
    judged_counts,
    probability_of_first,
    rate,
    timestamp,
)
from tests.annotation.demo.conftest import rng

CAREFUL, CARELESS = RATERS[0], RATERS[5]


def share_of_first(rater: Rater, *, difference: float) -> float:
    stream = rng(3)
    return float(np.mean([choose(rater, difference=difference, rng=stream).first for _ in range(4000)]))


@pytest.mark.parametrize(
    ("difference", "more", "chance"),
    [
        (0.0, {}, 0.5),
        (np.log(3), {}, 0.75),
        (-np.log(3), {}, 0.25),
        (5.0, {"lapse": 1.0}, 0.5),  # a lapsed rater is moved by position alone
        (5.0, {"lapse": 1.0, "position_bias": np.log(3)}, 0.75),
    ],
)
def test_the_truth_is_the_logistic_of_the_difference(difference, more, chance) -> None:
    assert probability_of_first(difference, **more) == pytest.approx(chance)


@pytest.mark.parametrize("rater", RATERS, ids=lambda rater: rater.name)
@pytest.mark.parametrize("difference", [-2.0, 0.0, 1.0])
def test_votes_follow_the_rater_s_probability(rater: Rater, difference: float) -> None:
    expected = probability_of_first(
        difference, sensitivity=rater.sensitivity, position_bias=rater.position_bias, lapse=rater.lapse
    )
    # Four standard errors of 4,000 votes.
    assert share_of_first(rater, difference=difference) == pytest.approx(expected, abs=0.032)


def test_agreement_with_the_truth_and_confidence_grow_with_the_gap_most_of_all_for_the_careful() -> None:
    shares = [share_of_first(CAREFUL, difference=gap) for gap in (0.25, 0.75, 1.5, 3.0)]
    assert shares == sorted(shares)
    assert shares[-1] - shares[0] > 0.3
    means = []
    for gap in (0.0, 3.0):
        stream = rng(3)
        means.append(np.mean([choose(CAREFUL, difference=gap, rng=stream).confidence for _ in range(2000)]))
    assert means[0] < 3 < means[1]
    right = {rater.name: share_of_first(rater, difference=-2.0) for rater in RATERS}
    assert max(right, key=lambda name: right[name]) == CARELESS.name  # the second clip is better


@pytest.mark.parametrize("rater", RATERS, ids=lambda rater: rater.name)
def test_confidence_and_ratings_use_one_to_five(rater: Rater) -> None:
    stream = rng(3)
    assert {choose(rater, difference=1.0, rng=stream).confidence for _ in range(2000)} == {1, 2, 3, 4, 5}
    given = {rate(rater, correctness=c, rng=stream) for c in (1, 2, 3, 4, 5) for _ in range(200)}
    assert given == {1, 2, 3, 4, 5}


def test_a_careful_rater_stays_near_the_truth() -> None:
    stream = rng(3)
    ratings = [rate(CAREFUL, correctness=4, rng=stream) for _ in range(1000)]
    assert np.mean(ratings) == pytest.approx(4.0, abs=0.05)
    assert np.mean([abs(rating - 4) <= 1 for rating in ratings]) == 1.0


def test_work_is_shared_evenly_half_is_judged_fully_a_fifth_partly_and_the_rest_waits() -> None:
    chosen = allocate([3] * 20 + [1] * 7 + [0] * 5, rng=rng(3))
    assert [len(set(raters)) for raters in chosen] == [3] * 20 + [1] * 7 + [0] * 5
    load = [sum(rater in raters for raters in chosen) for rater in RATERS]
    assert max(load) - min(load) <= 1
    counts = judged_counts(50, overlap=3, rng=rng(3))
    assert sorted(counts) == [0] * 15 + [1] * 5 + [2] * 5 + [3] * 25


def test_a_drawn_rater_is_the_same_whoever_else_is_drawn() -> None:
    assert draw_rater(7, seed=1) == draw_rater(7, seed=1)
    assert draw_rater(7, seed=1) != draw_rater(7, seed=2) != draw_rater(8, seed=2)


def test_most_drawn_raters_are_careful_and_some_are_not() -> None:
    drawn = [draw_rater(number, seed=3) for number in range(1, 301)]
    careless = [rater for rater in drawn if rater.lapse >= 0.2]
    assert 25 <= len(careless) <= 65  # 15 % of 300, give or take three standard deviations
    assert all(rater.sensitivity <= 0.7 for rater in careless)
    assert 1.0 < np.median([rater.sensitivity for rater in drawn if rater.lapse < 0.2]) < 1.5


# ── Evidence ─────────────────────────────────────────────────────────────────────────────────────────────────


# What cannot be said of a clip with the flaw.
DENIES = {
    "unsteady": "steady|beat",
    "wrong_notes": "in key|in tune|somewhere",
    "looped_bar": "goes somewhere|finished|proper close",
}


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    return make_comparisons(load_prompts()[:4], seed=1)


def written(comparison: Comparison, *, seed: int, first: bool = True) -> str | None:
    stream = np.random.default_rng(seed)
    return evidence(CAREFUL, comparison, aligned_first=first, musical_first=first, rng=stream)


def test_evidence_is_one_to_three_varied_sentences_with_timestamps_within_the_clip(
    comparisons: list[Comparison],
) -> None:
    texts = [written(c, seed=seed) for c in comparisons for seed in range(20)]
    assert len(set(texts[:20])) >= 5
    for text in (text for text in texts if text is not None):
        assert 1 <= text.count(".") <= 3
        assert text[0].isupper()
        assert text.endswith(".")
        assert "{" not in text
    stamps = [int(second) for text in texts for second in re.findall(r"0:(\d\d)", text or "")]
    assert 0 < max(stamps) <= 8
    assert [timestamp(seconds) for seconds in (0.2, 3.9, 61.0)] == ["0:00", "0:03", "1:01"]


def test_praise_is_never_given_for_what_is_wrong(comparisons: list[Comparison]) -> None:
    checked = 0
    for comparison in comparisons:
        texts = [written(comparison, seed=seed) or "" for seed in range(20)]
        praises = [text.split(";")[0] for text in texts if ";" in text]
        for kind in {flaw.kind for flaw in comparison.a.flaws} & DENIES.keys():
            assert not any(re.search(DENIES[kind], praise) for praise in praises)
            checked += len(praises)
    assert checked > 0


def test_the_evidence_names_a_failure_of_the_side_that_lost(comparisons: list[Comparison]) -> None:
    slow = next(c for c in comparisons if "wrong_tempo" in c.b.failures and not c.a.failures)
    texts = [written(slow, seed=seed) or "" for seed in range(20)]
    assert any("bpm instead of" in text or "much too" in text for text in texts)
