"""`manage.py evaluate BENCHMARK FOLDER --scorer NAME …`: a scorer against people, as the AQAScore paper does it."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.benchmarks import BENCHMARKS, Benchmark, BenchmarkError, limit_benchmark, open_benchmark
from analytics.evaluation.evaluate import evaluate, write_tables
from analytics.evaluation.results import BenchmarkResult
from analytics.statistics.bootstrap import REPLICATES, Resampling
from annotation.errors import DomainError
from scoring.metrics import registry
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import OptionError
from scoring.runs import validation

_SECONDS_BETWEEN_LINES = 5.0


class Command(BaseCommand):
    help = "Score a published benchmark and compare the scores with what people said."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", choices=sorted(BENCHMARKS), metavar="BENCHMARK")
        parser.add_argument(
            "folder", type=Path, metavar="FOLDER", help="where the benchmark was downloaded to"
        )
        parser.add_argument("--scorer", required=True, help=", ".join(sorted(registry.METRICS)))
        parser.add_argument(
            "--output", required=True, type=Path, metavar="DIR", help="scores and tables go here"
        )
        parser.add_argument("--backbone", help="a hub name, a folder, or a server's address")
        parser.add_argument("--template", help="question templates with commas between them, or all")
        parser.add_argument("--prompts", type=Path, metavar="FILE", help="a prompt file (TOML) of your own")
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="any other setting of the scorer",
        )
        parser.add_argument(
            "--limit", type=int, metavar="N", help="only the first N of each part, to try things out"
        )
        parser.add_argument(
            "--skip-missing", action="store_true", help="leave out what lacks its sound, instead of refusing"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (0)")
        parser.add_argument(
            "--replicates", type=int, default=REPLICATES, help=f"of the bootstrap ({REPLICATES})"
        )

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            benchmark, result = self._evaluated(given)
            self._report(result)
            for path in write_tables(given["output"], benchmark):
                self.stdout.write(str(path))
        except DomainError as error:
            raise CommandError(error.message) from error
        except (BenchmarkError, SetupError, OptionError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The results could not be written: {error}") from error
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. What was scored is kept: the same command goes on from here."
            ) from None

    def _evaluated(self, given: dict[str, Any]) -> tuple[Benchmark, BenchmarkResult]:
        resampling = _resampling(given)
        options = validation.validate_options(None, given["scorer"], _options(given))
        benchmark = open_benchmark(given["benchmark"], given["folder"], skip_missing=given["skip_missing"])
        if given["limit"] is not None:
            if given["limit"] < 1:
                raise CommandError("--limit: give a number of 1 or more.")
            benchmark = limit_benchmark(benchmark, given["limit"])
        result = evaluate(
            benchmark,
            given["scorer"],
            options,
            folder=given["output"],
            resampling=resampling,
            progress=_Meter(self.stdout.write),
        )
        return benchmark, result

    def _report(self, result: BenchmarkResult) -> None:
        failed = sum(result.faults.values())
        self.stdout.write(f"{result.n_examples - failed:,} of {result.n_examples:,} examples have a score.")
        for code, n in sorted(result.faults.items()):
            self.stdout.write(
                f"  {code}: {n:,} ({100 * n / result.n_examples:.1f} %), left out of the figures"
            )
        if result.left_out:
            self.stdout.write(f"{len(result.left_out):,} sounds are not in the folder and were left out.")


class _Meter:
    """Says now and then how far it is, how fast, and for how long yet."""

    def __init__(self, write: Any) -> None:
        self._write = write
        self._started = self._said = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not done:
            self._started = self._said = now
            self._write(f"{total:,} to score" if total else "Everything is scored already.")
        elif now - self._said >= _SECONDS_BETWEEN_LINES or done == total:
            rate = done / max(now - self._started, 1e-6)
            self._said = now
            self._write(f"{done:,} of {total:,} · {rate:.1f} a second · {_time((total - done) / rate)} left")


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _resampling(given: dict[str, Any]) -> Resampling:
    if given["replicates"] < 1:
        raise CommandError("--replicates: give a number of 1 or more.")
    return Resampling(seed=given["seed"], replicates=given["replicates"])


def _options(given: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for setting in given["option"]:
        name, equals, value = setting.partition("=")
        if not equals:
            raise CommandError(f"--option {setting}: write it as NAME=VALUE.")
        options[name.strip()] = value
    options |= {name: given[name] for name in ("backbone", "template") if given[name]}
    if given["prompts"]:
        options["prompts"] = _prompts(given["prompts"])
    return options


def _prompts(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} is no prompt file: {error}") from error
