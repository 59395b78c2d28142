"""Counting words, and sorting answers by what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.arrays import percentile_ranks
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.answer_length import answer_types, count_words, length_decay


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


QUICK = Resampling(replicates=40)


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
