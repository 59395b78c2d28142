"""Registry of published benchmarks, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from analytics.benchmarks import baton, brace, compa, fense, pam, relate
from analytics.benchmarks.contract import Benchmark, BenchmarkError, Folder


@dataclass(frozen=True)
class PublishedBenchmark:
    """How a benchmark is opened, and the sentence that says where it comes from."""

    opens: Callable[[Folder], Benchmark]
    where: str


BENCHMARKS: dict[str, PublishedBenchmark] = {
    "relate": PublishedBenchmark(relate.open_relate, relate.PUBLISHED),
    "relate-pair": PublishedBenchmark(relate.open_relate_pair, relate.PUBLISHED),
    "pam": PublishedBenchmark(pam.open_pam, pam.PUBLISHED),
    "baton": PublishedBenchmark(baton.open_baton, baton.PUBLISHED),
    "baton-pair": PublishedBenchmark(baton.open_baton_pair, baton.PUBLISHED),
    "compa": PublishedBenchmark(compa.open_compa, compa.PUBLISHED),
    "fense": PublishedBenchmark(fense.open_fense, fense.PUBLISHED),
    "brace": PublishedBenchmark(brace.open_brace, brace.PUBLISHED),
    # Half of one, for who has the sounds of the other half only.
    **{
        f"compa-{kind}": PublishedBenchmark(partial(compa.open_compa, kinds=(kind,)), compa.PUBLISHED)
        for kind in compa.PARTS
    },
    **{
        f"fense-{name}": PublishedBenchmark(partial(fense.open_fense, sets=(name,)), fense.PUBLISHED)
        for name in fense.SETS
    },
    **{
        f"brace-{name}": PublishedBenchmark(partial(brace.open_brace, sets=(name,)), brace.PUBLISHED)
        for name in brace.SETS
    },
}


def open_benchmark(name: str, folder: Path, *, skip_missing: bool = False) -> Benchmark:
    """Read a benchmark and find its sounds. Raises BenchmarkError for what is missing or wrong.

    With `skip_missing` what lacks its sound is left out and named in `left_out`: videos that AudioCaps points to
    disappear, so that hardly anybody has them all.
    """
    if name not in BENCHMARKS:
        raise BenchmarkError(f"There is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}.")
    published = BENCHMARKS[name]
    found = published.opens(Folder(folder, published=published.where, skip_missing=skip_missing))
    if not (found.ratings or found.choices or found.squares):
        raise BenchmarkError(f"{folder} leaves nothing to evaluate. {published.where}")
    return replace(found, name=name)
