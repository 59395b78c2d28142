"""The file that scores go to: complete and in order at the end, and never in need of being scored twice."""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from annotation.errors import Conflict, InvalidInput
from scoring.files.source import Row
from scoring.metrics.contract import Outcome

FORMATS = (".csv", ".jsonl")

_AFTER = ("fault", "reason")
_NOT_SCORES = {"id", "audio", "audio2", "text", "text2", "details", *_AFTER}


@dataclass(frozen=True)
class Line:
    """What became of a row. `details` holds, by output, the distribution and what else is known of a score."""

    id: str
    audio: tuple[str, ...]
    texts: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Row, outcome: Outcome) -> Line:
        details = {
            name: {"distribution": reading.distribution, "provenance": dict(reading.provenance)}
            for name, reading in outcome.readings.items()
            if reading.distribution or reading.provenance
        }
        # A prompt file may call its questions as it likes, "text" for one.
        scores = {
            f"score.{name}" if name in _NOT_SCORES else name: reading.value
            for name, reading in outcome.readings.items()
        }
        fault = outcome.fault
        if fault is not None:
            return cls(row.id, row.audio, row.texts, fault=fault.code, reason=fault.message)
        return cls(row.id, row.audio, row.texts, scores, details=details)

    def flat(self) -> dict[str, Any]:
        named = {"id": self.id, **_numbered("audio", self.audio), **_numbered("text", self.texts)}
        details = {"details": dict(self.details)} if self.details else {}
        return {**named, **self.scores, "fault": self.fault, "reason": self.reason, **details}

    @classmethod
    def from_flat(cls, found: Mapping[str, Any]) -> Line:
        """Raises KeyError and ValueError where `flat` did not write it."""
        return cls(
            str(found["id"]),
            tuple(str(found[name]) for name in ("audio", "audio2") if found.get(name)),
            tuple(str(found[name]) for name in ("text", "text2") if found.get(name)),
            {name: float(found[name]) for name in found if name not in _NOT_SCORES and found[name] != ""},
            str(found["fault"]),
            str(found["reason"]),
            found.get("details") or {},
        )


class Target:
    """Opened with the rows that will go into it and the identity of what scores them.

    While rows are scored they are appended to PATH.partial; on leaving, for whatever reason, all that is known goes to
    PATH in the order of the source, in one step. PATH.scorer.json says what scored it. Raises InvalidInput where PATH
    cannot be continued, Conflict where another process is at it.
    """

    def __init__(self, path: Path, *, rows: Sequence[Row], identity: Mapping[str, Any]) -> None:
        check_target(path)
        self.path = path
        self._rows = rows
        self._identity = identity
        self._scorer = path.with_name(f"{path.name}.scorer.json")
        self._partial = path.with_name(f"{path.name}.partial")
        self._lines: dict[str, Line] = {}

    def __enter__(self) -> Self:
        try:
            self._file = self._partial.open("a+b")
        except OSError as error:
            raise InvalidInput(
                f"{self.path} cannot be written: {error.strerror}. Name another target."
            ) from error
        try:
            self._lock()
            self._open_locked()
        except BaseException:
            self._file.close()
            raise
        return self

    def _open_locked(self) -> None:
        try:
            self._same_scorer()
            self._lines = self._kept()
        except BaseException:
            if not self._partial.stat().st_size:
                self._partial.unlink()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            _replace(self.path, self._in_order())
            self._partial.unlink()

    @property
    def lines(self) -> list[Line]:
        """What is known so far, in the order of the source."""
        return [self._lines[row.id] for row in self._rows if row.id in self._lines]

    def missing(self) -> list[Row]:
        """The rows without a score: never scored, failed, or changed since."""
        return [row for row in self._rows if not self._is_scored(row)]

    def append(self, lines: Iterable[Line]) -> None:
        """Keep these, on the disk when this returns."""
        for line in lines:
            self._lines[line.id] = line
            self._file.write(json.dumps(line.flat(), ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _is_scored(self, row: Row) -> bool:
        line = self._lines.get(row.id)
        return line is not None and not line.fault and (line.audio, line.texts) == (row.audio, row.texts)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before may have finished and removed it since it was opened here.
            ours = os.fstat(self._file.fileno()).st_ino == self._partial.stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            ours = False
        if not ours:
            raise Conflict(f"Another process writes to {self.path.name}. Wait for it, or stop it.")

    def _same_scorer(self) -> None:
        """The scorer is on record before the first score is."""
        begun = self.path.exists() or self._partial.stat().st_size > 0
        mine = {"digest": digest_of(self._identity), "identity": dict(self._identity)}
        theirs = _read_json(self._scorer).get("digest") if self._scorer.exists() else None
        if begun and theirs != mine["digest"]:
            whose = "another scorer, or another version of it" if theirs else "something else"
            raise InvalidInput(
                f"{self.path.name} was written by {whose}. Name another target, or move this one away."
            )
        if theirs != mine["digest"]:
            _replace(self._scorer, json.dumps(mine, indent=1, ensure_ascii=False) + "\n")

    def _kept(self) -> dict[str, Line]:
        lines = _read(self.path) if self.path.exists() else []
        self._file.seek(0)
        whole, _, torn = self._file.read().rpartition(b"\n")
        # The last line may have been cut off by a crash; its row is scored again.
        self._file.truncate(self._file.tell() - len(torn))
        lines += _parsed(self._partial.name, whole.decode(errors="replace"), as_csv=False)
        found = {line.id: line for line in lines}
        if strangers := sorted(found.keys() - {row.id for row in self._rows}):
            raise InvalidInput(
                f"{self.path.name} holds {len(strangers)} rows that the source does not, {strangers[0]!r} first. "
                "Name another target: these would be lost."
            )
        return found

    def _in_order(self) -> str:
        flat = [line.flat() for line in self.lines]
        if self.path.suffix == ".jsonl":
            return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in flat)
        first = [
            name for name in ("id", "audio", "audio2", "text", "text2") if any(name in each for each in flat)
        ]
        scores = list(dict.fromkeys(name for line in self.lines for name in line.scores))
        written = io.StringIO()
        writer = csv.DictWriter(
            written, [*first, *scores, *_AFTER], extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(flat)
        return written.getvalue()


def check_target(path: Path) -> None:
    """Raises InvalidInput where nothing can be written under this name."""
    if path.suffix not in FORMATS:
        raise InvalidInput(f"{path.name} is none of {', '.join(FORMATS)}. Name the target so.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}. Make it first.")


def digest_of(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _numbered(name: str, values: Sequence[str]) -> dict[str, str]:
    return dict(zip((name, f"{name}2"), values, strict=False))


def _read(path: Path) -> list[Line]:
    return _parsed(
        path.name, path.read_text(encoding="utf-8-sig", errors="replace"), as_csv=path.suffix == ".csv"
    )


def _parsed(name: str, text: str, *, as_csv: bool) -> list[Line]:
    try:
        if as_csv:
            return [Line.from_flat(row) for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)]
        # Not splitlines: texts may hold separators of other kinds.
        return [Line.from_flat(json.loads(line)) for line in text.split("\n") if line.strip()]
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise InvalidInput(
            f"{name} cannot be continued: it was changed since it was written ({error}). Name another target."
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
