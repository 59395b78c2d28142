"""Prompts written as the file they would be read from, so that they can be taken, changed and given back."""

from __future__ import annotations

import re

from scoring.prompts.load import Prompts

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def written(prompts: Prompts) -> str:
    """TOML that `parse` reads back to the same prompts."""
    lines = [f"source = {_text(prompts.source)}", f"system = {_text(prompts.system)}"]
    for name, questions in prompts.questions.items():
        lines += ["", f"[questions.{_line(name)}]"]
        lines += [f"{_line(key)} = {_text(question)}" for key, question in questions.items()]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    # A line break right after the quotes is no part of the text.
    return f'"""\n{_escaped(text)}"""' if "\n" in text else _line(text)


def _line(text: str) -> str:
    return '"' + _escaped(text).replace("\n", "\\n") + '"'


def _escaped(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", plain)
