"""Prompt files: read, validated, filled and written as TOML. Every fault names its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
MAX_CHARACTERS = 20_000


class PromptError(Exception):
    """A prompt file cannot be used; the message names the place and the remedy."""


@dataclass(frozen=True)
class Prompts:
    """A system prompt and sets of questions. `questions[set][key]` is a text with {placeholders}."""

    source: str
    system: str
    questions: Mapping[str, Mapping[str, str]]


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
    if unknown := sorted(set(definition) - {"source", "system", "questions"}):
        raise PromptError(
            f"{unknown[0]}: not known here; a prompt file has source, system and [questions.…]."
        )
    questions = definition.get("questions")
    if not isinstance(questions, Mapping) or not questions:
        raise PromptError("questions: missing; give at least one [questions.<set>] with one question.")
    return Prompts(
        source=_parse_text(definition.get("source", ""), "source"),
        system=_parse_text(definition.get("system", ""), "system").strip(),
        questions={
            name: _parse_questions(entries, f"questions.{name}") for name, entries in questions.items()
        },
    )


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put each value in its place. What a value itself holds is never taken for a placeholder. Raises KeyError."""
    return PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def _parse_questions(entries: Any, place: str) -> dict[str, str]:
    if not isinstance(entries, Mapping) or not entries:
        raise PromptError(f'{place}: give it at least one question, as key = "text".')
    found = {}
    for key, text in entries.items():
        if not KEY.match(key):
            raise PromptError(f"{place}.{key}: use small letters, digits, - and _ in names, 40 at most.")
        found[key] = _parse_text(text, f"{place}.{key}").strip()
        if not found[key]:
            raise PromptError(f"{place}.{key}: is empty.")
    return found


def _parse_text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise PromptError(f"{place}: must be a text in quotes.")
    if len(value) > MAX_CHARACTERS:
        raise PromptError(f"{place}: has {len(value):,} characters; {MAX_CHARACTERS:,} are the most.")
    return value


# ── rules for direct prompting and the cascade: checked when a study brings its own file, and when a run opens ──

ASK = "ask"
SYSTEM = "system"


@dataclass(frozen=True)
class PromptRule:
    """The placeholders of a question, and the line that will be read of its answer, if it is only one."""

    placeholders: frozenset[str]
    line: str = ""


_TEXT = frozenset({"text"})
_CAPTION = frozenset({"ground_truth_description", "audio_caption"})
_CAPTIONS = frozenset({"audio_caption1", "audio_caption2"})
_SCORE = "Score: <number>"
_BETTER_CAPTION = "Better Caption: <1 or 2>"

PROMPT_RULES: Mapping[str, Mapping[str, PromptRule]] = {
    "prompting": {
        "relate": PromptRule(_TEXT, _SCORE),
        "pam": PromptRule(_TEXT, _SCORE),
        "baton": PromptRule(_TEXT, "Answer: <preferred or rejected>"),
        "two-sounds": PromptRule(_TEXT, "Better Match: <first audio or second audio>"),
        "two-texts": PromptRule(_CAPTIONS, _BETTER_CAPTION),
    },
    "cascade": {
        "caption": PromptRule(frozenset()),
        "relate": PromptRule(_CAPTION, _SCORE),
        "pam": PromptRule(_CAPTION, _SCORE),
        "baton": PromptRule(_CAPTION, "Decision: <preferred or rejected>"),
        "two-sounds": PromptRule(_CAPTIONS | {"ground_truth_description"}, _BETTER_CAPTION),
        "two-texts": PromptRule(_CAPTIONS | {"ground_truth_description"}, _BETTER_CAPTION),
    },
}


def check_prompts(prompts: Prompts, family: str) -> None:
    """Whatever a file holds for this family of scorers must be usable, though it need not hold everything. Raises
    PromptError. Families without needs of their own pass."""
    if family not in PROMPT_RULES:
        return
    needs = PROMPT_RULES[family]
    for name, keys in prompts.questions.items():
        if name not in (ASK, SYSTEM):
            raise PromptError(
                f"questions.{name}: not known here; {family} has questions.{ASK} and .{SYSTEM}."
            )
        for key in keys:
            if key not in needs:
                raise PromptError(f"questions.{name}.{key}: not known here; there are {', '.join(needs)}.")
    for key in prompts.questions.get(ASK, {}):
        question_of(prompts, family, key)


def question_of(prompts: Prompts, family: str, key: str) -> str:
    """A question that holds what it must. Raises PromptError where it is missing or does not."""
    place, need = f"questions.{ASK}.{key}", PROMPT_RULES[family][key]
    ask = prompts.questions.get(ASK, {}).get(key)
    if ask is None:
        raise PromptError(f"{place}: missing; it is what this scorer asks.")
    if set(PLACEHOLDER.findall(ask)) != need.placeholders:
        said = ", ".join(f"{{{name}}}" for name in sorted(need.placeholders)) or "no {placeholder}"
        raise PromptError(f"{place}: must hold {said}, once or more, and no other.")
    label = need.line.partition("<")[0].strip()
    if label not in ask + system_prompt_of(prompts, key):
        raise PromptError(f"{place}: must ask for a line “{need.line}”; that line is what is read.")
    return ask


def system_prompt_of(prompts: Prompts, key: str) -> str:
    """The system prompt of a question: its own, or the file's."""
    return prompts.questions.get(SYSTEM, {}).get(key, prompts.system)


# ── TOML: prompts written as the file they would be read from ──

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def to_toml(prompts: Prompts) -> str:
    """TOML that `parse` reads back to the same prompts."""
    lines = [f"source = {_toml_text(prompts.source)}", f"system = {_toml_text(prompts.system)}"]
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
