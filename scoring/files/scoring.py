"""A file of rows through a metric, in even batches, to a file of scores."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from annotation.audio.errors import AudioError
from annotation.audio.ingest import content_sha256
from scoring.files.lines import Line
from scoring.files.source import Row, read_rows, seconds_of
from scoring.files.target import Target
from scoring.metrics.batching import score_each
from scoring.metrics.contract import BatchLimits, Example, Metric, Sound
from scoring.metrics.entries import Reads


@dataclass(frozen=True)
class Summary:
    """How it went: rows in the file, how many have a score now, how many had one before, and the others by fault."""

    n_rows: int
    n_scored: int
    n_before: int
    faults: Mapping[str, int]


def score_file(
    source: Path, target: Path, metric: Metric, *, reads: Reads, on_progress: Callable[[int, int], None]
) -> Summary:
    """Score every row of `source` that `target` has no score for.

    `source` is CSV, TSV or JSONL with the columns audio (a path, relative to the file) and text, and where wanted id,
    audio2, text2; `target` is CSV or JSONL. It may be broken off at any moment: what is scored by then is in `target`,
    and a second call goes on from there. `on_progress` is told of rows settled and rows to settle in this call. Raises
    InvalidInput before anything is scored, and SetupError.
    """
    rows = read_rows(source, reads=reads)
    with Target(target, rows=rows, identity=metric.identity) as kept:
        missing = kept.missing()
        seconds = seconds_of({path for row in missing for path in row.paths})
        n_settled = 0
        for batch, lines in _scored(metric, missing, seconds):
            kept.append(lines)
            n_settled += len(batch)
            on_progress(n_settled, len(missing))
        faults = Counter(line.fault for line in kept.lines if line.fault)
    return Summary(len(rows), len(rows) - faults.total(), len(rows) - len(missing), dict(faults))


def batches(rows: Sequence[Row], lengths: Mapping[Path, float], limits: BatchLimits) -> Iterator[list[Row]]:
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
) -> Iterator[tuple[list[Row], list[Line]]]:
    """Each batch with its lines, while the metric may already decode the next."""
    sha256 = cache(sha256_of)

    def examples(batch: Sequence[Row]) -> list[Example]:
        return [
            Example(number, tuple(Sound(sha256(path), path, lengths[path]) for path in row.paths), row.texts)
            for number, row in enumerate(batch)
        ]

    waiting = batches(rows, lengths, metric.limits)
    batch = next(waiting, None)
    ready = examples(batch or [])
    while batch is not None:
        following = next(waiting, None)
        then = examples(following or [])
        metric.prepare(then)
        outcomes = score_each(metric, ready)
        yield batch, [Line.of(row, outcome) for row, outcome in zip(batch, outcomes, strict=True)]
        batch, ready = following, then


def _length(row: Row, lengths: Mapping[Path, float]) -> float:
    return max(lengths[path] for path in row.paths)


def sha256_of(path: Path) -> str:
    """What the contents of a sound are called; of one that cannot be read, its path."""
    try:
        return content_sha256(path)
    except (AudioError, OSError):
        # The metric finds the same fault when it decodes, and puts it into words; until then it needs a name.
        return hashlib.sha256(os.fsencode(path)).hexdigest()
