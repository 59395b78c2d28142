"""What became of each row, as a line of CSV or JSON, and read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.formulas import as_written, defused
from scoring.files.source import Row
from scoring.metrics.contract import Outcome

_NAMED = ("id", "audio", "audio2", "text", "text2")
_AFTER = ("fault", "reason")
_NOT_SCORES = {*_NAMED, "bounded", "details", *_AFTER}
_BETWEEN = ";"


@dataclass(frozen=True)
class Line:
    """What became of a row. `bounded` names the answers of which only an upper bound is known, as output:answer;
    `details` holds, by output, the distribution and what else is known of a score."""

    id: str
    audio: tuple[str, ...]
    texts: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    reason: str = ""
    bounded: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Row, outcome: Outcome) -> Line:
        fault = outcome.fault
        if fault is not None:
            return cls(row.id, row.audio, row.texts, fault=fault.code, reason=fault.message)
        details = {
            name: {"distribution": reading.distribution, "provenance": dict(reading.provenance)}
            for name, reading in outcome.readings.items()
            if reading.distribution or reading.provenance
        }
        bounded = tuple(
            f"{name}:{answer}"
            for name, reading in outcome.readings.items()
            for answer in reading.provenance.get("bounded", ())
        )
        # A prompt file may call its questions as it likes, "text" for one.
        scores = {
            f"score.{name}" if name in _NOT_SCORES else name: reading.value
            for name, reading in outcome.readings.items()
        }
        return cls(row.id, row.audio, row.texts, scores, bounded=bounded, details=details)

    def flat(self) -> dict[str, Any]:
        """As the object of a JSON line."""
        named = {"id": self.id, **_numbered("audio", self.audio), **_numbered("text", self.texts)}
        bounded = {"bounded": list(self.bounded)} if self.bounded else {}
        details = {"details": dict(self.details)} if self.details else {}
        return {**named, **self.scores, "fault": self.fault, "reason": self.reason, **bounded, **details}

    @classmethod
    def from_flat(cls, found: Mapping[str, Any]) -> Line:
        """Raises KeyError, TypeError and ValueError where `flat` did not write it."""
        return cls(
            str(found["id"]),
            tuple(str(found[name]) for name in ("audio", "audio2") if found.get(name)),
            tuple(str(found[name]) for name in ("text", "text2") if found.get(name)),
            {name: float(found[name]) for name in found if name not in _NOT_SCORES and found[name] != ""},
            str(found["fault"]),
            str(found["reason"]),
            tuple(found.get("bounded") or ()),
            found.get("details") or {},
        )


def as_json_lines(lines: Sequence[Line]) -> str:
    return "".join(json.dumps(line.flat(), ensure_ascii=False) + "\n" for line in lines)


def from_json_lines(text: str) -> list[Line]:
    """Raises ValueError, KeyError, TypeError and AttributeError where `as_json_lines` did not write it."""
    # Not splitlines: texts may hold separators of other kinds.
    return [Line.from_flat(json.loads(line)) for line in text.split("\n") if line.strip()]


def as_csv(lines: Sequence[Line]) -> str:
    """A column for each output, and `bounded` where some are; `details` are left to JSON."""
    rows = [{**line.flat(), "bounded": _BETWEEN.join(line.bounded)} for line in lines]
    columns = [name for name in _NAMED if any(name in row for row in rows)]
    columns += dict.fromkeys(name for line in lines for name in line.scores)
    if any(line.bounded for line in lines):
        columns.append("bounded")
    columns += _AFTER
    written = io.StringIO(newline="")
    # With another end of line the writer leaves a lone carriage return unquoted, which ends the row for readers.
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([defused(name) for name in columns])
    writer.writerows([_cell(row.get(name, "")) for name in columns] for row in rows)
    return written.getvalue()


def from_csv(text: str) -> list[Line]:
    """Raises what `from_json_lines` does, and csv.Error."""
    found = []
    for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
        cells: dict[str, Any] = {as_written(name): as_written(cell) for name, cell in row.items()}
        if bounded := cells.get("bounded"):
            cells["bounded"] = bounded.split(_BETWEEN)
        found.append(Line.from_flat(cells))
    return found


def _cell(value: Any) -> Any:
    return defused(value) if isinstance(value, str) else value


def _numbered(name: str, values: Sequence[str]) -> dict[str, str]:
    return dict(zip((name, f"{name}2"), values, strict=False))
