"""Scores kept in a file as they come, so that an evaluation goes on where it stopped."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from annotation.errors import Conflict, InvalidInput
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
    """What a scorer said of an example: values by output, or the code of the fault that left none. `bounded` names the
    outputs whose value is only a bound."""

    values: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    message: str = ""
    bounded: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        return self.fault not in _PASSING


def content_key(example: Example) -> str:
    """Names an example by what it says: the bytes of its sounds and its texts, in their order."""
    said = [[sound.sha256 for sound in example.sounds], list(example.texts)]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()[:32]


class ScoreFile:
    """A JSONL file, one line per example scored by one scorer; a later line for an example replaces an earlier one.

    Entering it locks it, or raises Conflict, and cuts off a last line that a killed process left half-written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scored: dict[str, Scored] = {}

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._cut_half_line()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def has(self, key: str) -> bool:
        return key in self.scored and self.scored[key].is_settled

    def add(self, outcomes: Iterable[tuple[str, Outcome]]) -> None:
        found = {key: _scored(outcome) for key, outcome in outcomes}
        lines = "".join(json.dumps(_line(key, one), ensure_ascii=False) + "\n" for key, one in found.items())
        # A message may quote a server's answer, and that may hold half a character, which UTF-8 cannot write.
        self._file.write(lines.encode(errors="backslashreplace"))
        self._file.flush()
        self.scored.update(found)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                f"Another evaluation with this scorer writes to {self.path}. Wait for it, or stop it; then the same "
                "command goes on from what it scored."
            ) from None

    def _cut_half_line(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        self._file.truncate(content.rfind(b"\n") + 1)

    def _read(self) -> None:
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            try:
                entry = json.loads(line)
                values = {str(name): float(value) for name, value in entry["values"].items()}
                self.scored[entry["example"]] = Scored(
                    values, entry.get("fault", ""), entry.get("message", ""), tuple(entry.get("bounded", ()))
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InvalidInput(
                    f"Line {number} of {self.path} is damaged. Delete that line to have it scored again.",
                    code="damaged_scores",
                ) from error


def _scored(outcome: Outcome) -> Scored:
    if outcome.fault is not None:
        return Scored(fault=outcome.fault.code, message=outcome.fault.message)
    bounded = tuple(name for name, reading in outcome.readings.items() if reading.provenance.get("bounded"))
    return Scored({name: reading.value for name, reading in outcome.readings.items()}, bounded=bounded)


def _line(key: str, one: Scored) -> dict[str, Any]:
    fault = {"fault": one.fault, "message": one.message} if one.fault else {}
    bounded = {"bounded": list(one.bounded)} if one.bounded else {}
    return {"example": key, "values": dict(one.values), **fault, **bounded}
