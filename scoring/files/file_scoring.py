"""Scoring the rows of a file: even batches through a metric, to a CSV or JSON lines file that can be resumed."""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from annotation.audio.errors import AudioError
from annotation.audio.ingest import content_sha256
from annotation.csv_escaping import escape_formula, unescape_formula
from annotation.errors import Conflict, InvalidInput
from scoring.files.source import COLUMNS, FIELDS, Row, read_rows, references_of, seconds_of
from scoring.metrics import estimates
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import (
    BatchLimits,
    Example,
    Metric,
    Outcome,
    Sound,
    deciding_identity,
    over_corpus,
)
from scoring.metrics.estimates import Estimate
from scoring.metrics.registry import Reads

# ── result lines: CSV or JSON, written and read back ──

_FAULT_COLUMNS = ("fault", "reason")
_NOT_SCORES = {*COLUMNS, "bounded", "details", *_FAULT_COLUMNS}
_SEPARATOR = ";"


@dataclass(frozen=True)
class ScoredLine:
    """The result of a row, with all that was scored of it. `bounded` names the answers of which only an upper bound is
    known, as output:answer; `details` holds, by output, the distribution and what else is known of a score."""

    id: str
    audio: tuple[str, ...]
    texts: tuple[str, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    fault: str = ""
    reason: str = ""
    bounded: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Row, outcome: Outcome) -> ScoredLine:
        fault = outcome.fault
        if fault is not None:
            return cls(row.id, row.audio, row.texts, row.fields, fault=fault.code, reason=fault.message)
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
        return cls(row.id, row.audio, row.texts, row.fields, scores, bounded=bounded, details=details)

    def is_of(self, row: Row) -> bool:
        """Whether it is the result of this row as it is now."""
        return (self.audio, self.texts, self.fields) == (row.audio, row.texts, row.fields)

    def flat(self) -> dict[str, Any]:
        """As the object of a JSON line."""
        named = {
            "id": self.id,
            **_numbered("audio", self.audio),
            **_numbered("text", self.texts),
            **self.fields,
        }
        bounded = {"bounded": list(self.bounded)} if self.bounded else {}
        details = {"details": dict(self.details)} if self.details else {}
        return {**named, **self.scores, "fault": self.fault, "reason": self.reason, **bounded, **details}

    @classmethod
    def from_flat(cls, cells: Mapping[str, Any]) -> ScoredLine:
        """Raises KeyError, TypeError and ValueError where `flat` did not write it."""
        return cls(
            str(cells["id"]),
            tuple(str(cells[name]) for name in ("audio", "audio2") if cells.get(name)),
            tuple(str(cells[name]) for name in ("text", "text2") if cells.get(name)),
            {name: str(cells[name]) for name in FIELDS if cells.get(name)},
            {name: float(cells[name]) for name in cells if name not in _NOT_SCORES and cells[name] != ""},
            str(cells["fault"]),
            str(cells["reason"]),
            tuple(cells.get("bounded") or ()),
            cells.get("details") or {},
        )


def as_json_lines(lines: Sequence[ScoredLine]) -> str:
    return "".join(json.dumps(line.flat(), ensure_ascii=False) + "\n" for line in lines)


def from_json_lines(text: str) -> list[ScoredLine]:
    """Raises ValueError, KeyError, TypeError and AttributeError where `as_json_lines` did not write it."""
    # Not splitlines: texts may hold separators of other kinds.
    return [ScoredLine.from_flat(json.loads(line)) for line in text.split("\n") if line.strip()]


def as_csv(lines: Sequence[ScoredLine]) -> str:
    """A column for each output, and `bounded` where some are; `details` are left to JSON."""
    rows = [{**line.flat(), "bounded": _SEPARATOR.join(line.bounded)} for line in lines]
    columns = [name for name in COLUMNS if any(name in row for row in rows)]
    columns += dict.fromkeys(name for line in lines for name in line.scores)
    if any(line.bounded for line in lines):
        columns.append("bounded")
    columns += _FAULT_COLUMNS
    return csv_text(columns, ([row.get(name, "") for name in columns] for row in rows))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Texts escaped against CSV injection; None is an empty cell."""
    written = io.StringIO(newline="")
    # With another end of line the writer leaves a lone carriage return unquoted, which ends the row for readers.
    writer = csv.writer(written, lineterminator="\r\n")
    for row in (columns, *rows):
        writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in row])
    return written.getvalue()


def from_csv(text: str) -> list[ScoredLine]:
    """Raises what `from_json_lines` does, and csv.Error."""
    lines = []
    for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
        cells: dict[str, Any] = {unescape_formula(name): unescape_formula(cell) for name, cell in row.items()}
        if bounded := cells.get("bounded"):
            cells["bounded"] = bounded.split(_SEPARATOR)
        lines.append(ScoredLine.from_flat(cells))
    return lines


def _numbered(name: str, values: Sequence[str]) -> dict[str, str]:
    return dict(zip((name, f"{name}2"), values, strict=False))


TARGET_FORMATS = (".csv", ".jsonl")


class Target:
    """Opened with the rows that will go into it and the identity of what scores them.

    While rows are scored they are appended to PATH.partial; on leaving, for whatever reason, all that is known goes to
    PATH in the order of the source, in one step, if anything is. PATH.scorer.json says what scored it. Raises
    InvalidInput where PATH cannot be continued, Conflict where another process is at it.
    """

    def __init__(self, path: Path, *, rows: Sequence[Row], identity: Mapping[str, Any]) -> None:
        check_target(path)
        self.path = path
        self._rows = rows
        self._identity = identity
        self._scorer = path.with_name(f"{path.name}.scorer.json")
        self._partial = path.with_name(f"{path.name}.partial")
        self._lines: dict[str, ScoredLine] = {}

    def __enter__(self) -> Self:
        try:
            self._file = self._partial.open("a+b")
        except OSError as error:
            raise InvalidInput(
                f"{self.path} cannot be written: {error.strerror}. Name another target."
            ) from error
        with ExitStack() as on_error:
            on_error.enter_context(self._file)
            self._lock()
            on_error.callback(self._remove_empty_partial)
            self._require_same_scorer()
            self._lines = self._stored_lines()
            on_error.pop_all()
        return self

    def _remove_empty_partial(self) -> None:
        if not self._partial.stat().st_size:
            self._partial.unlink()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            # Where nothing could be scored, such as by a scorer that refuses these rows, nothing is begun.
            if self._lines or self.path.exists():
                _replace_file(self.path, self._in_order())
            else:
                self._scorer.unlink(missing_ok=True)
            self._partial.unlink()

    @property
    def lines(self) -> list[ScoredLine]:
        """The results so far, in the order of the source."""
        return [self._lines[row.id] for row in self._rows if row.id in self._lines]

    def missing(self) -> list[Row]:
        """The rows without a score: never scored, failed, or changed since."""
        return [row for row in self._rows if not self._is_scored(row)]

    def append(self, lines: Iterable[ScoredLine]) -> None:
        """Keep these, on the disk when this returns."""
        new = list(lines)
        self._lines |= {line.id: line for line in new}
        self._file.write(_encoded(as_json_lines(new)))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _is_scored(self, row: Row) -> bool:
        line = self._lines.get(row.id)
        return line is not None and not line.fault and line.is_of(row)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before may have finished and removed it since it was opened here.
            ours = os.fstat(self._file.fileno()).st_ino == self._partial.stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            ours = False
        if not ours:
            raise Conflict(f"Another process writes to {self.path.name}. Wait for it, or stop it.")

    def _require_same_scorer(self) -> None:
        """The scorer is on record before the first score is."""
        begun = self.path.exists() or self._partial.stat().st_size > 0
        identity = json.dumps(deciding_identity(self._identity), sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(identity.encode()).hexdigest()
        theirs = _read_json(self._scorer).get("digest") if self._scorer.exists() else None
        if begun and theirs != digest:
            whose = "another scorer, or another version of it" if theirs else "something else"
            raise InvalidInput(
                f"{self.path.name} was written by {whose}. Name another target, or move this one away."
            )
        if theirs != digest:
            mine = {"digest": digest, "identity": dict(self._identity)}
            _replace_file(self._scorer, json.dumps(mine, indent=1, ensure_ascii=False) + "\n")

    def _stored_lines(self) -> dict[str, ScoredLine]:
        lines = []
        if self.path.exists():
            # Not read_text, which takes every carriage return for an end of line.
            text = self.path.read_bytes().decode("utf-8-sig", errors="replace")
            lines = _parse_lines(self.path.name, text, as_csv=self.path.suffix == ".csv")
        self._file.seek(0)
        whole, _, torn = self._file.read().rpartition(b"\n")
        # The last line may have been cut off by a crash; its row is scored again.
        self._file.truncate(self._file.tell() - len(torn))
        lines += _parse_lines(self._partial.name, whole.decode(errors="replace"), as_csv=False)
        by_id = {line.id: line for line in lines}
        if strangers := sorted(by_id.keys() - {row.id for row in self._rows}):
            raise InvalidInput(
                f"{self.path.name} holds {len(strangers)} rows that the source does not, {strangers[0]!r} first. "
                "Name another target: these would be lost."
            )
        return by_id

    def _in_order(self) -> str:
        return as_csv(self.lines) if self.path.suffix == ".csv" else as_json_lines(self.lines)


def check_target(path: Path) -> None:
    """Raises InvalidInput where nothing can be written under this name."""
    if path.suffix not in TARGET_FORMATS:
        raise InvalidInput(f"{path.name} is none of {', '.join(TARGET_FORMATS)}. Name the target so.")
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}. Make it first.")


def _parse_lines(name: str, text: str, *, as_csv: bool) -> list[ScoredLine]:
    try:
        return from_csv(text) if as_csv else from_json_lines(text)
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise InvalidInput(
            f"{name} cannot be continued: it was changed since it was written ({error}). Name another target."
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _encoded(text: str) -> bytes:
    """A model's server may answer with half a character, which UTF-8 cannot write; it is escaped as JSON does it."""
    return text.encode(errors="backslashreplace")


def _replace_file(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(_encoded(text))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


# ── scoring a file in even batches ──


@dataclass(frozen=True)
class Summary:
    """Rows in the file, how many have a score now, how many had one before, and the others by fault."""

    n_rows: int
    n_scored: int
    n_before: int
    faults: Mapping[str, int]


def score_file(
    source: Path,
    target: Path,
    metric: Metric,
    *,
    reads: Reads,
    hears: bool = True,
    on_progress: Callable[[int, int], None],
) -> Summary:
    """Score every row of `source` that `target` has no score for.

    `source` is CSV, TSV or JSONL with the columns audio (a path, relative to the file) and text, and where wanted
    id, audio2, text2, question, reference, rationale, transcript, prompt, lyrics; a scorer that does not hear needs no
    audio and judges the text as an answer. `target` is CSV or JSONL. It may be interrupted at any moment: a second call
    resumes from the scores in `target`. `on_progress` is called with the rows settled and the rows to settle in this
    call. Raises InvalidInput before anything is scored, and SetupError.
    """
    rows = read_rows(source, reads=reads, hears=hears)
    metric = over_corpus(metric, lambda: references_of(rows))
    with Target(target, rows=rows, identity=metric.identity) as opened:
        missing = opened.missing()
        seconds = seconds_of({path for row in missing for path in row.paths})
        n_settled = 0
        for batch, lines in _scored(metric, missing, seconds):
            opened.append(lines)
            n_settled += len(batch)
            on_progress(n_settled, len(missing))
        faults = Counter(line.fault for line in opened.lines if line.fault)
    return Summary(len(rows), len(rows) - faults.total(), len(rows) - len(missing), dict(faults))


_SAMPLED = 32


def estimate_rows(rows: Sequence[Row], metric: str, options: Mapping[str, Any]) -> Estimate:
    """What servers would be asked about all of these rows, from some of them. Raises OptionError."""
    sampled = rows[:: max(1, len(rows) // _SAMPLED)][:_SAMPLED]
    lengths = seconds_of({path for row in sampled for path in row.paths})
    examples = [
        Example(
            number, tuple(Sound(str(path), path, lengths[path]) for path in row.paths), row.texts, row.fields
        )
        for number, row in enumerate(sampled)
    ]
    return estimates.estimate(metric, options, examples, n_rows=len(rows), n_sampled=len(sampled))


def even_batches(
    rows: Sequence[Row], lengths: Mapping[Path, float], limits: BatchLimits
) -> Iterator[list[Row]]:
    """Rows of like length together, the longest first: what does not fit into memory shows at once."""
    batch: list[Row] = []
    longest = 0.0
    for row in sorted(rows, key=lambda row: _length(row, lengths), reverse=True):
        full = len(batch) == limits.examples or (len(batch) + 1) * longest > limits.seconds
        if batch and full:
            yield batch
            batch = []
        if not batch:
            longest = _length(row, lengths)
        batch.append(row)
    if batch:
        yield batch


def _scored(
    metric: Metric, rows: Sequence[Row], lengths: Mapping[Path, float]
) -> Iterator[tuple[list[Row], list[ScoredLine]]]:
    """Each batch with its lines, while the metric may already decode the next."""
    sha256 = cache(sound_sha256)

    def examples(batch: Sequence[Row]) -> list[Example]:
        return [
            Example(
                number,
                tuple(Sound(sha256(path), path, lengths[path]) for path in row.paths),
                row.texts,
                row.fields,
            )
            for number, row in enumerate(batch)
        ]

    waiting = even_batches(rows, lengths, metric.limits)
    batch = next(waiting, None)
    ready = examples(batch or [])
    while batch is not None:
        following = next(waiting, None)
        then = examples(following or [])
        metric.prepare(then)
        outcomes = score_batch(metric, ready)
        yield batch, [ScoredLine.of(row, outcome) for row, outcome in zip(batch, outcomes, strict=True)]
        batch, ready = following, then


def _length(row: Row, lengths: Mapping[Path, float]) -> float:
    return max((lengths[path] for path in row.paths), default=0.0)


def sound_sha256(path: Path) -> str:
    """The content hash of a sound; of one that cannot be read, its path."""
    try:
        return content_sha256(path)
    except (AudioError, OSError):
        # The metric finds the same fault when it decodes, and puts it into words; until then it needs a name.
        return hashlib.sha256(os.fsencode(path)).hexdigest()
