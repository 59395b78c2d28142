"""Scores kept in a file as they come, so that an evaluation goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.errors import InvalidInput
from scoring.metrics.contract import Example, Outcome

# What may go away by itself, on a larger machine or when a share is mounted again; everything else would only fail
# again.
_PASSING = frozenset(
    {
        "missing",
        "no_answer",
        "out_of_memory",
        "server_refused",
        "server_unreachable",
        "unforeseen",
        "worker_died",
    }
)


@dataclass(frozen=True)
class Scored:
    """What a scorer said of an example: values by output, or the code of the fault that left none."""

    values: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    message: str = ""

    @property
    def is_settled(self) -> bool:
        return self.fault not in _PASSING


def content_key(example: Example) -> str:
    """Names an example by what it says: the bytes of its sounds and its texts, in their order."""
    said = [[sound.sha256 for sound in example.sounds], list(example.texts)]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()[:32]


class ScoreFile:
    """A JSONL file, one line per example scored by one scorer; a later line for an example replaces an earlier one.

    Opening it cuts off a last line that a killed process left half-written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scored: dict[str, Scored] = {}
        if path.exists():
            _cut_half_line(path)
            self._read()

    def has(self, key: str) -> bool:
        return key in self.scored and self.scored[key].is_settled

    def add(self, outcomes: Iterable[tuple[str, Outcome]]) -> None:
        found = {key: _scored(outcome) for key, outcome in outcomes}
        lines = "".join(json.dumps(_line(key, one), ensure_ascii=False) + "\n" for key, one in found.items())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(lines)
        self.scored.update(found)

    def _read(self) -> None:
        with self.path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    entry = json.loads(line)
                    values = {str(name): float(value) for name, value in entry["values"].items()}
                    self.scored[entry["example"]] = Scored(
                        values, entry.get("fault", ""), entry.get("message", "")
                    )
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise InvalidInput(
                        f"Line {number} of {self.path} is damaged. Delete that line to have it scored again.",
                        code="damaged_scores",
                    ) from error


def _scored(outcome: Outcome) -> Scored:
    if outcome.fault is not None:
        return Scored(fault=outcome.fault.code, message=outcome.fault.message)
    return Scored({name: reading.value for name, reading in outcome.readings.items()})


def _line(key: str, one: Scored) -> dict[str, Any]:
    fault = {"fault": one.fault, "message": one.message} if one.fault else {}
    return {"example": key, "values": dict(one.values), **fault}


def _cut_half_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
