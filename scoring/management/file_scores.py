"""Scoring a file from the terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from scoring.files import Summary, score_file
from scoring.files.source import read_rows
from scoring.files.target import check_target
from scoring.metrics import registry
from scoring.metrics.contract import SetupError
from scoring.services import opened

_WIDTH = 79


def score(
    source: Path,
    metric: str,
    options: Mapping[str, Any],
    *,
    target: Path | None,
    stdout: OutputWrapper,
    stderr: OutputWrapper,
) -> None:
    """Raises CommandError, and InvalidInput for what is wrong with the files, before a model is loaded."""
    target = target or source.with_name(f"{source.stem}.{metric}.csv")
    try:
        reads = registry.entry(metric).reads
        chosen = registry.validated(metric, options)
        read_rows(source, reads=reads)
        check_target(target)
        model = opened.opened(metric, chosen)
        summary = score_file(source, target, model, reads=reads, on_progress=RowProgress(stderr))
    except (registry.OptionError, SetupError) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        again = f"Stopped. What was scored is in {target}; the same command goes on from there."
        raise CommandError(again, returncode=130) from None
    stdout.write(_in_words(summary, target))


class RowProgress:
    def __init__(self, stream: OutputWrapper) -> None:
        self._stream = stream
        self._began = time.monotonic()

    def __call__(self, n_settled: int, n_rows: int) -> None:
        per_second = n_settled / max(time.monotonic() - self._began, 1e-3)
        left = (n_rows - n_settled) / per_second
        line = f"{n_settled} of {n_rows}, {per_second:.2f} a second, {left:.0f} s left"
        if self._stream.isatty():
            self._stream.write(f"\r{line:<{_WIDTH}}" + ("\n" if n_settled == n_rows else ""), ending="")
            self._stream.flush()


def _in_words(summary: Summary, target: Path) -> str:
    lines = [f"{summary.n_scored} of {summary.n_rows} rows have a score in {target}."]
    if summary.n_before:
        lines.append(f"{summary.n_before} of them had it before.")
    faults = sorted(summary.faults.items(), key=lambda fault: -fault[1])
    return "\n".join([*lines, *(f"{n:>8} × {code}" for code, n in faults)])
