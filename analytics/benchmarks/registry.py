"""Registry of published benchmarks, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from analytics.benchmarks import aqeval, baton, brace, compa, fense, pam, relate
from analytics.benchmarks.contract import (
    Benchmark,
    BenchmarkError,
    Choice,
    Composition,
    Folder,
    Rating,
    Square,
    Units,
)


@dataclass(frozen=True)
class PublishedBenchmark:
    """How a benchmark is read, from a folder into units, and the sentence that says where it comes from. `composition`:
    how all that is published is counted, where its paper has a table of that."""

    title: str
    read: Callable[..., Iterable[Rating | Choice | Square]]
    where: str
    composition: Callable[[Folder], Iterable[Composition]] = lambda folder: ()


BENCHMARKS: dict[str, PublishedBenchmark] = {
    "relate": PublishedBenchmark("RELATE", relate.relate_ratings, relate.PUBLISHED),
    "relate-pair": PublishedBenchmark("RELATE-Pair", relate.relate_pairs, relate.PUBLISHED),
    "pam": PublishedBenchmark("PAM", pam.pam_ratings, pam.PUBLISHED),
    "baton": PublishedBenchmark("Baton", baton.baton_ratings, baton.PUBLISHED),
    "baton-pair": PublishedBenchmark("Baton-Pair", baton.baton_pairs, baton.PUBLISHED),
    "compa": PublishedBenchmark("CompA", compa.compa_squares, compa.PUBLISHED),
    "fense": PublishedBenchmark("FENSE", fense.fense_pairs, fense.PUBLISHED),
    "brace": PublishedBenchmark("BRACE", brace.brace_pairs, brace.PUBLISHED),
    "aqeval": PublishedBenchmark(
        "AQEval", aqeval.aqeval_ratings, aqeval.PUBLISHED, aqeval.aqeval_composition
    ),
    "aqeval-validation": PublishedBenchmark(
        "AQEval validation",
        partial(aqeval.aqeval_ratings, split="validation"),
        aqeval.PUBLISHED,
        aqeval.aqeval_composition,
    ),
}
# Half of one, for who has the sounds of the other half only.
BENCHMARKS |= {
    f"{whole}-{part}": replace(BENCHMARKS[whole], read=partial(BENCHMARKS[whole].read, parts=(part,)))
    for whole, parts in (("compa", compa.PARTS), ("fense", fense.SETS), ("brace", brace.SETS))
    for part in parts
}


def open_benchmark(
    name: str, folder: Path, *, skip_missing: bool = False, needs_sounds: bool = True
) -> Benchmark:
    """Read a benchmark and find its sounds. Raises BenchmarkError for what is missing or wrong.

    With `skip_missing` what lacks its sound is left out and named in `left_out`: videos that AudioCaps points to
    disappear, so that hardly anybody has them all. Without `needs_sounds` answers come without theirs, all of them: the
    metric reads texts alone.
    """
    if name not in BENCHMARKS:
        raise BenchmarkError(f"There is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}.")
    published = BENCHMARKS[name]
    opened = Folder(folder, published=published.where, skip_missing=skip_missing, needs_sounds=needs_sounds)
    units = Units()
    judged = list(published.read(opened, units))
    if not judged:
        raise BenchmarkError(f"{folder} leaves nothing to evaluate. {published.where}")
    return Benchmark(
        name,
        published.title,
        units.all(),
        ratings=tuple(one for one in judged if isinstance(one, Rating)),
        choices=tuple(one for one in judged if isinstance(one, Choice)),
        squares=tuple(one for one in judged if isinstance(one, Square)),
        left_out=tuple(opened.missing),
        composition=tuple(published.composition(opened)),
    )
