from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.contract import ExampleError
from scoring.metrics.llm_judge import choice_format, number_format, parse_answer

SCORE = number_format("Score", low=0, high=10)
MATCH = choice_format("Better Match", {"first audio": 1.0, "second audio": 0.0})


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Score: 7", 7.0),
        ("  Score: 0\n", 0.0),
        ("Score: 7.5", 7.5),
        ("Score:10", 10.0),
        ("**Score: 8**", 8.0),
        ("**Score:** 8", 8.0),
        ("There is a dog, as the text says.\n\nScore: 8", 8.0),
        ("Score: 8\nI repeat.\nScore: 8.0", 8.0),
    ],
)
def test_a_line_in_the_format_is_read_wherever_it_stands(answer, value):
    assert parse_answer(answer, SCORE) == value


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("", "no line"),
        ("7", "no line"),
        ("It fits well. Score: 7", "no line"),
        ("score: 7", "no line"),
        ("The score is 7 out of 10.", "no line"),
        ("Score: <number>", "not “Score"),
        ("Score: 7/10", "not “Score"),
        ("Score: 7 or so", "not “Score"),
        ("Score: eight", "not “Score"),
        ("Score: ７", "not “Score"),
        ("Score: 7,5", "not “Score"),
        ("Score: 1e1", "not “Score"),
        ("Score: nan", "not “Score"),
        ("Score: 11", "not “Score"),
        ("Score: -1", "not “Score"),
        ("Score:", "not “Score"),
        ("Score: 7\nScore: high", "not “Score"),
        ("Score: 7\nScore: 8", "more than one"),
    ],
)
def test_what_is_not_in_the_format_is_never_guessed(answer, what):
    with pytest.raises(ExampleError) as found:
        parse_answer(answer, SCORE)
    assert found.value.fault.code == "unparsable"
    assert what in found.value.fault.message


def test_the_fault_shows_how_the_answer_begins():
    with pytest.raises(ExampleError) as found:
        parse_answer("I cannot\nrate this. " + "x" * 500, SCORE)
    assert "“I cannot rate this. xxx" in found.value.fault.message
    assert len(found.value.fault.message) < 300


@pytest.mark.parametrize(
    ("answer", "value"),
    [("Better Match: first audio", 1.0), ("Because.\nBetter Match: Second audio", 0.0)],
)
def test_a_choice_is_read_in_either_case(answer, value):
    assert parse_answer(answer, MATCH) == value


@pytest.mark.parametrize(
    "answer", ["Better Match: first", "Better Match: audio 1", "Better Match: first audio."]
)
def test_a_choice_must_be_one_of_the_words(answer):
    with pytest.raises(ExampleError, match="unparsable"):
        parse_answer(answer, MATCH)


@given(st.text(max_size=100) | st.from_regex(r"(Score: ?-?[0-9.]{0,4}\n?){1,2}"))
def test_any_text_gives_a_value_on_the_scale_or_a_fault(answer):
    with suppress(ExampleError):
        assert 0.0 <= parse_answer(answer, SCORE) <= 10.0
