"""Counting words, and sorting answers by what was asked for."""

from __future__ import annotations

import pytest

from analytics.statistics.judges.answer_length import answer_types, count_words


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
