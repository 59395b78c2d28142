from __future__ import annotations

import tomllib

import pytest

from scoring.prompts import parse, shipped, shipped_names, to_toml


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_prompts_are_written_as_they_are_read(name):
    assert parse(tomllib.loads(to_toml(shipped(name)))) == shipped(name)


@pytest.mark.parametrize(
    "text",
    ['say "yes" or \\n', 'three """ quotes', "two\nlines\n\nand one", "tab\there", "\x00\x7f\r\n", "中文"],
)
def test_any_text_survives(text):
    made = parse({"source": text, "system": text, "questions": {'a "set"': {"key": f"x{text}x"}}})
    assert parse(tomllib.loads(to_toml(made))) == made
