"""The file that scores go to: complete and in order at the end, and never in need of being scored twice."""

from __future__ import annotations

import csv
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from annotation.errors import Conflict, InvalidInput
from scoring.files.lines import Line, as_csv, as_json_lines, from_csv, from_json_lines
from scoring.files.source import Row

FORMATS = (".csv", ".jsonl")


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
        new = list(lines)
        self._lines |= {line.id: line for line in new}
        self._file.write(_encoded(as_json_lines(new)))
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
        return as_csv(self.lines) if self.path.suffix == ".csv" else as_json_lines(self.lines)


def check_target(path: Path) -> None:
    """Raises InvalidInput where nothing can be written under this name."""
    if path.suffix not in FORMATS:
        raise InvalidInput(f"{path.name} is none of {', '.join(FORMATS)}. Name the target so.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}. Make it first.")


def digest_of(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _read(path: Path) -> list[Line]:
    # Not read_text, which takes every carriage return for an end of line.
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    return _parsed(path.name, text, as_csv=path.suffix == ".csv")


def _parsed(name: str, text: str, *, as_csv: bool) -> list[Line]:
    try:
        return from_csv(text) if as_csv else from_json_lines(text)
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


def _encoded(text: str) -> bytes:
    """A model's server may answer with half a character, which UTF-8 cannot write; it is escaped as JSON does it."""
    return text.encode(errors="backslashreplace")


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(_encoded(text))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
