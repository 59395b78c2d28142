"""Prompts as data: what a metric says to a model, read from TOML (the files here) or from a study's own.

    name = "what the set is called, if it has a name"
    source = "where the wording comes from"
    system = "the system prompt, or empty"
    [questions.<set>]
    <key> = "a question with {placeholders}"

Every fault names its place. A pure island: no Django.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
MAX_CHARACTERS = 20_000
_NAME_LENGTH = 80


class PromptError(Exception):
    """A prompt file cannot be used; the message names the place and the remedy."""


@dataclass(frozen=True)
class Prompts:
    """A system prompt and sets of questions. `questions[set][key]` is a text with {placeholders}."""

    source: str
    system: str
    questions: Mapping[str, Mapping[str, str]]
    name: str = ""

    @property
    def sha256(self) -> str:
        """Of all words that may be sent, whatever the set is called and wherever it comes from."""
        words = json.dumps([self.system, self.questions], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()

    @property
    def identity(self) -> dict[str, str]:
        """The set as a run and a report name it."""
        return {"name": self.name or "own, without a name", "sha256": self.sha256}


def shipped_names() -> list[str]:
    files = resources.files("scoring.prompts").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


@cache
def shipped(name: str) -> Prompts:
    if name not in shipped_names():
        raise PromptError(f"There are no prompts called {name!r}; there are {', '.join(shipped_names())}.")
    text = resources.files("scoring.prompts").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return parse(tomllib.loads(text))


def parse(definition: Mapping[str, Any]) -> Prompts:
    """Check a definition and turn it into Prompts. Raises PromptError at the first fault."""
    if unknown := sorted(set(definition) - {"name", "source", "system", "questions"}):
        raise PromptError(
            f"{unknown[0]}: not known here; a prompt file has name, source, system and [questions.…]."
        )
    name = _parse_text(definition.get("name", ""), "name").strip()
    if len(name) > _NAME_LENGTH or "\n" in name:
        raise PromptError(f"name: must be one line of {_NAME_LENGTH} characters at most.")
    questions = definition.get("questions")
    if not isinstance(questions, Mapping) or not questions:
        raise PromptError("questions: missing; give at least one [questions.<set>] with one question.")
    return Prompts(
        source=_parse_text(definition.get("source", ""), "source"),
        system=_parse_text(definition.get("system", ""), "system").strip(),
        questions={key: _parse_questions(entries, f"questions.{key}") for key, entries in questions.items()},
        name=name,
    )


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put each value in its place. What a value itself holds is never taken for a placeholder. Raises KeyError."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def fill_lines(template: str, values: Mapping[str, str], *, always: Sequence[str] = ()) -> str:
    """As `fill`; a line whose placeholders all have nothing to stand for is left out, unless one of them is `always`
    there."""
    lines = [line for line in template.split("\n") if _is_filled(line, values, always)]
    return "\n".join(fill(line, values) for line in lines).strip()


def _is_filled(line: str, values: Mapping[str, str], always: Sequence[str]) -> bool:
    names = PLACEHOLDER.findall(line)
    return not names or any(values.get(name) or name in always for name in names)


def _parse_questions(entries: Any, place: str) -> dict[str, str]:
    if not isinstance(entries, Mapping) or not entries:
        raise PromptError(f'{place}: give it at least one question, as key = "text".')
    questions = {}
    for key, text in entries.items():
        if not KEY.match(key):
            raise PromptError(f"{place}.{key}: use small letters, digits, - and _ in names, 40 at most.")
        questions[key] = _parse_text(text, f"{place}.{key}").strip()
        if not questions[key]:
            raise PromptError(f"{place}.{key}: is empty.")
    return questions


def _parse_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise PromptError(f"{place}: must be a text in quotes.")
    if len(value) > MAX_CHARACTERS:
        raise PromptError(f"{place}: has {len(value):,} characters; {MAX_CHARACTERS:,} are the most.")
    return value


# ── TOML: prompts written as the file they would be read from ──

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def to_toml(prompts: Prompts) -> str:
    """TOML that `parse` reads back to the same prompts."""
    lines = [f"name = {_toml_line(prompts.name)}"] if prompts.name else []
    lines += [f"source = {_toml_text(prompts.source)}", f"system = {_toml_text(prompts.system)}"]
    for name, questions in prompts.questions.items():
        lines += ["", f"[questions.{_toml_line(name)}]"]
        lines += [f"{_toml_line(key)} = {_toml_text(question)}" for key, question in questions.items()]
    return "\n".join(lines) + "\n"


def _toml_text(text: str) -> str:
    # A line break right after the quotes is no part of the text.
    return f'"""\n{_toml_escape(text)}"""' if "\n" in text else _toml_line(text)


def _toml_line(text: str) -> str:
    return '"' + _toml_escape(text).replace("\n", "\\n") + '"'


def _toml_escape(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", plain)
