"""What models are told: for each kind of text a system prompt and a question with placeholders for the item's fields.

The words are data: `scoring/prompts/writing.toml`, or a file of the same shape in its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.metrics.contract import ExampleError
from scoring.prompts import PromptError, Prompts, fill, parse, shipped
from scoring.prompts.load import PLACEHOLDER

SHIPPED = "writing"
ASK, SYSTEM = "ask", "system"
FIELDS = ("question", "reference", "rationale", "transcript", "prompt", "lyrics")
_ALL = frozenset({*FIELDS, "note"})


@dataclass(frozen=True)
class Need:
    """The placeholders that a question must have, and whose fields an item cannot be without; and those it may have."""

    must: frozenset[str]
    may: frozenset[str] = _ALL


NEEDS: Mapping[str, Need] = {
    "transcript": Need(frozenset()),
    "rationale": Need(frozenset({"question", "reference"})),
    "question": Need(frozenset({"question"})),
    "reference": Need(frozenset({"question"})),
    # A system that is to be judged must not be told what it will be judged by.
    "answer": Need(frozenset({"question"}), may=frozenset({"question", "prompt", "lyrics", "transcript"})),
}


@dataclass(frozen=True)
class Wording:
    """What is said for one kind of text. `source`: where the words come from."""

    writes: str
    system: str
    ask: str
    source: str = ""

    @property
    def digest(self) -> str:
        """Names these words, whatever is said of their source."""
        said = json.dumps([self.system, self.ask], ensure_ascii=False)
        return hashlib.sha256(said.encode()).hexdigest()

    def filled(self, fields: Mapping[str, str]) -> str:
        """The question about one item. A line whose placeholders all have nothing to stand for is left out. Raises
        ExampleError `no_text` where the item lacks a field that is needed."""
        for name in sorted(NEEDS[self.writes].must):
            if not fields.get(name):
                raise ExampleError(
                    "no_text",
                    f"The item has no {name}, without which no {self.writes} can be written. Add it.",
                )
        lines = [line for line in self.ask.split("\n") if _says_something(line, fields)]
        known = {name: fields.get(name, "") for name in _ALL}
        return "\n".join(fill(line, known) for line in lines).strip()


def wording(writes: str, definition: Mapping[str, Any] | None) -> Wording:
    """The words for one kind of text: of `definition` (a prompt file as parsed) where it has them, else those that come
    along. Raises PromptError, which names the place and the remedy."""
    if definition:
        prompts, source = parse(definition), str(definition.get("source") or "")
        check(prompts)
        if writes not in prompts.questions.get(ASK, {}):
            raise PromptError(f"questions.{ASK}.{writes}: missing; it is what this writer asks.")
    else:
        prompts, source = shipped(SHIPPED), f"as it comes along ({SHIPPED})"
    system = prompts.questions.get(SYSTEM, {}).get(writes, prompts.system)
    return Wording(writes, system, prompts.questions[ASK][writes], source)


def placeholders(ask: str) -> frozenset[str]:
    """The item's fields that a question asks for."""
    return frozenset(FIELDS) & frozenset(PLACEHOLDER.findall(ask))


def check(prompts: Prompts) -> None:
    """Whatever a file holds must be usable, though it need not hold everything. Raises PromptError."""
    for of, texts in prompts.questions.items():
        if of not in (ASK, SYSTEM):
            raise PromptError(f"questions.{of}: not known here; writers have questions.{ASK} and .{SYSTEM}.")
        for writes in texts:
            if writes not in NEEDS:
                raise PromptError(f"questions.{of}.{writes}: not known here; there are {', '.join(NEEDS)}.")
    for writes, ask in prompts.questions.get(ASK, {}).items():
        _check_placeholders(writes, ask)


def _check_placeholders(writes: str, ask: str) -> None:
    need, there = NEEDS[writes], set(PLACEHOLDER.findall(ask))
    place = f"questions.{ASK}.{writes}"
    if missing := sorted(need.must - there):
        raise PromptError(f"{place}: must hold {{{missing[0]}}}.")
    if unknown := sorted(there - need.may):
        raise PromptError(
            f"{place}: {{{unknown[0]}}} cannot stand here; there are {', '.join(sorted(need.may))}."
        )


def _says_something(line: str, fields: Mapping[str, str]) -> bool:
    names = PLACEHOLDER.findall(line)
    return not names or any(fields.get(name) for name in names)
