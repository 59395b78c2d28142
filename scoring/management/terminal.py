"""Terminal output of the commands: progress lines, scorer options, error sentences."""

from __future__ import annotations

import sys
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError, connection

from annotation.errors import DomainError
from scoring.metrics.server_use import Usage, UsageMeter, cost_of
from scoring.models import ModelRun
from scoring.runs.engine import R, RunEngine

_EVERY_SECONDS = 0.5
_LINE_WIDTH = 79


class ProgressLine:
    """A thread with a database connection of its own: the work goes on in the main one, or in a worker."""

    def __init__(self, describe: Callable[[], str], stream: OutputWrapper, *, shown: bool) -> None:
        self._tell_now, self._stream, self._over = describe, stream, threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True) if shown else None

    def __enter__(self) -> ProgressLine:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
            self._write("")

    def _tell(self) -> None:
        try:
            while not self._over.wait(_EVERY_SECONDS):
                try:
                    self._write(self._tell_now())
                except DatabaseError:
                    connection.close()  # restarted; the work waits for it as well
        finally:
            connection.close()

    def _write(self, line: str) -> None:
        self._stream.write(f"\r{line[:_LINE_WIDTH]:<{_LINE_WIDTH}}\r", ending="")
        self._stream.flush()


def describe_progress(run: ModelRun) -> str:
    words = [f"{run.n_settled} of {run.n_rows}"]
    if run.per_second:
        words.append(f"{run.per_second:.2f} a second")
    if run.seconds_left is not None:
        minutes, seconds = divmod(round(run.seconds_left), 60)
        words.append(f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left")
    if run.n_failed:
        words.append(f"{run.n_failed} failed")
    return ", ".join(words)


def describe_usage(prompt_tokens: int, completion_tokens: int, cost: float | None) -> list[str]:
    """What servers read and wrote; nothing where no server did."""
    words = [f"{prompt_tokens:,} tokens read, {completion_tokens:,} written"] if completion_tokens else []
    return words + ([] if cost is None else [f"cost {cost:,.4f}"])


def follow_run(
    command: BaseCommand,
    engine: RunEngine[R],
    run: R,
    *,
    work: Callable[[R], None],
    describe: Callable[[R], str],
    how_to_cancel: str,
) -> None:
    """Work on a run in this process, show how far it is, and list its faults."""

    def progress() -> str:
        return describe(engine.runs._default_manager.get(pk=run.pk))

    try:
        with ProgressLine(progress, command.stderr, shown=sys.stderr.isatty()):
            work(run)
    except KeyboardInterrupt:
        raise CommandError(
            f"Stopped here; a worker goes on with run {run.pk}. To end it: {how_to_cancel}.", returncode=130
        ) from None
    for fault in engine.count_faults(run):
        n = f"{fault.n}{'+' if fault.at_least else ''}"
        first = ", ".join(filter(None, (fault.item, fault.system)))
        command.stderr.write(f"{n:>8} × {fault.code}: {fault.reason} (first: {first})")


# ── options of a scorer on a command line ──

# Options that have a flag of their own; every other is given by --option.
SHORTHANDS = ("backbone", "checkpoint", "template", "dtype")


def add_scorer_options(parser: CommandParser) -> None:
    for name in SHORTHANDS:
        parser.add_argument(f"--{name}", help=f"short for --option {name}=…")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="any of the scorer's options"
    )
    parser.add_argument("--prompts", type=Path, metavar="FILE.toml", help="ask in these words instead")


def parse_scorer_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Raises CommandError."""
    options: dict[str, Any] = {name: arguments[name] for name in SHORTHANDS if arguments[name] is not None}
    options |= parse_option_pairs(arguments["option"])
    if arguments["prompts"]:
        options["prompts"] = read_prompts(arguments["prompts"])
    return options


def parse_option_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """The values of --option NAME=VALUE. Raises CommandError."""
    options = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise CommandError(f"--option {pair}: write NAME=VALUE.")
        options[name.strip()] = value
    return options


def read_prompts(file: Path) -> dict[str, Any]:
    """A prompt file as parsed. Raises CommandError."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CommandError(f"--prompts {file}: {error}") from error


def error_lines(error: DomainError) -> str:
    lines = [error.message, *(f"{each.field}: {each.message} {each.remedy}" for each in error.problems)]
    return "\n".join(line.rstrip() for line in lines)


class RunningUsage:
    """What servers have read and written since this began, and what it costs at the prices of a scorer's options, in
    words; nothing where no server was asked."""

    def __init__(self, options: Mapping[str, Any], meter: UsageMeter | None = None) -> None:
        self._prices = {name: options.get(name) for name in ("price_in", "price_out")}
        self._usage, self.meter = Usage(), meter or UsageMeter()
        self.meter.take()

    def __call__(self) -> list[str]:
        self._usage = self._usage.plus(self.meter.take())
        if not self._usage.requests:
            return []
        read, written = self._usage.prompt_tokens, self._usage.completion_tokens
        return describe_usage(read, written, cost_of(read, written, **self._prices))


class RowProgress:
    """`usage`, where there is one, says what servers have read and written so far, and what it costs."""

    def __init__(self, stream: OutputWrapper, usage: Callable[[], list[str]] = list) -> None:
        self._stream, self._usage = stream, usage
        self._began = time.monotonic()

    def __call__(self, n_settled: int, n_rows: int) -> None:
        per_second = n_settled / max(time.monotonic() - self._began, 1e-3)
        left = (n_rows - n_settled) / per_second
        words = [
            f"{n_settled} of {n_rows}",
            f"{per_second:.2f} a second",
            f"{left:.0f} s left",
            *self._usage(),
        ]
        line = ", ".join(words)[:_LINE_WIDTH]
        if self._stream.isatty():
            self._stream.write(f"\r{line:<{_LINE_WIDTH}}" + ("\n" if n_settled == n_rows else ""), ending="")
            self._stream.flush()
