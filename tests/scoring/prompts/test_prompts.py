from __future__ import annotations

import tomllib

import pytest

from scoring.prompts import PromptError, fill, parse, shipped, shipped_names, to_toml


def test_a_value_is_never_taken_for_a_placeholder():
    filled = fill("Is {text1} better than {text2}?", {"text1": "a {text2} {x", "text2": "b"})
    assert filled == "Is a {text2} {x better than b?"


@pytest.mark.parametrize(
    ("definition", "place"),
    [
        ({"questions": {}}, "questions"),
        ({"questions": {"text": {}}}, "questions.text"),
        ({"questions": {"text": {"Big": "x"}}}, "questions.text.Big"),
        ({"questions": {"text": {"a": 3}}}, "questions.text.a"),
        ({"questions": {"text": {"a": " "}}}, "questions.text.a"),
        ({"questions": {"text": {"a": "x"}}, "sytem": "typo"}, "sytem"),
        ({"questions": {"text": {"a": "x" * 20_001}}}, "questions.text.a"),
        ({"questions": {"text": {"a": "x"}}, "name": "x" * 81}, "name"),
        ({"questions": {"text": {"a": "x"}}, "name": "two\nlines"}, "name"),
    ],
)
def test_a_fault_names_its_place(definition, place):
    with pytest.raises(PromptError, match=f"^{place}:"):
        parse(definition)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_prompts_are_written_as_they_are_read(name):
    assert parse(tomllib.loads(to_toml(shipped(name)))) == shipped(name)


@pytest.mark.parametrize(
    "text",
    ['say "yes" or \\n', 'three """ quotes', "two\nlines\n\nand one", "tab\there", "\x00\x7f\r\n", "中文"],
)
def test_any_text_survives(text):
    made = parse(
        {"name": "a “set”", "source": text, "system": text, "questions": {'a "set"': {"key": f"x{text}x"}}}
    )
    assert parse(tomllib.loads(to_toml(made))) == made


def test_a_set_s_hash_is_of_its_words_alone():
    words = {"system": "Hear.", "questions": {"text": {"a": "x", "b": "y"}}}
    one, other = parse({**words, "name": "one", "source": "here"}), parse({**words, "name": "other"})
    assert one.sha256 == other.sha256
    assert (one.identity["name"], parse(words).identity["name"]) == ("one", "own, without a name")
    assert parse({**words, "system": "Listen."}).sha256 != one.sha256
    assert parse({**words, "questions": {"text": {"a": "x", "b": "z"}}}).sha256 != one.sha256
