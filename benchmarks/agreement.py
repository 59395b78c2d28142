"""Krippendorff's alpha of 10 million ratings: from arrays, from PostgreSQL, vote by vote, and without each rater.

    python -m benchmarks.agreement [arrays] [raters] [running] [database]
        [--ratings 10000000] [--replicates 2000] [--rounds 3] [--database-ratings 10000000]

Three units in ten ratings, 500 raters, ordinal values of 1 to 5, rows in no order. `arrays` gives alpha, its jackknife
and a bootstrap over units, beside what the krippendorff package (from value counts made beforehand) and evalica (from a
frame made beforehand) take for alpha alone. Every contestant has a process of its own, so that its peak memory is its
own: what it holds beyond the ratings themselves. One that would not fit into memory says what it would need; one that
is not installed is absent. `database` counts by the product's own query and computes alpha from the rows that come
back; making 10 million rated rows takes ten minutes and 8 GB of disk. Each part prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from analytics.statistics.agreement.alpha import IntervalSettings, krippendorff_alpha
from analytics.statistics.agreement.patterns import patterns_from_long, patterns_from_rows
from analytics.statistics.agreement.running_alpha import RunningAlpha
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters.rater_agreement import one_left_out
from benchmarks import harness

RATERS, VALUES = 500, 5
SECONDS, MEGABYTES, DATABASE_SECONDS = 2.0, 1000.0, 15.0
MEGABYTE = 2**20


class Ratings:
    """The columns, as files that every contestant reads for itself."""

    def __init__(self, folder: Path) -> None:
        self.unit, self.rater, self.value = (
            np.load(folder / f"{name}.npy") for name in ("unit", "rater", "value")
        )

    @staticmethod
    def make(folder: Path, n: int) -> None:
        rng = np.random.default_rng(0)
        units = 3 * n // 10
        size = 3 + (np.arange(units) % 3 == 0)
        unit = np.repeat(np.arange(units, dtype=np.int32), size)
        place = np.arange(len(unit)) - np.repeat(np.cumsum(size) - size, size)
        rater = (rng.integers(RATERS, size=units)[unit] + 7 * place) % RATERS
        truth = rng.integers(1, VALUES + 1, size=units)
        guess = rng.integers(1, VALUES + 1, size=len(unit))
        value = np.where(rng.random(len(unit)) < 0.6, truth[unit], guess)
        order = rng.permutation(len(unit))
        np.save(folder / "unit.npy", unit[order])
        np.save(folder / "rater.npy", rater[order].astype(np.int16))
        np.save(folder / "value.npy", value[order].astype(np.uint8))


def ours(ratings: Ratings, replicates: int) -> Callable[[], dict[str, Any]]:
    drawn = IntervalSettings("units", Resampling(replicates=replicates))

    def work() -> dict[str, Any]:
        patterns = patterns_from_long(ratings.unit, ratings.value)
        jackknife = krippendorff_alpha(patterns, level="ordinal")
        bootstrap = krippendorff_alpha(patterns, level="ordinal", interval=drawn)
        return {"alpha": jackknife.alpha, "jackknife": jackknife.ci, "bootstrap": bootstrap.ci}

    return work


def package(ratings: Ratings, replicates: int) -> Callable[[], dict[str, Any]]:
    import krippendorff

    units = int(ratings.unit.max()) + 1
    _refuse_beyond_memory(24 * units * VALUES**2)
    key = ratings.unit.astype(np.int64) * VALUES + ratings.value - 1
    counts = np.bincount(key, minlength=units * VALUES).reshape(units, VALUES)
    domain = np.arange(1, VALUES + 1)
    return lambda: {
        "alpha": float(
            krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement="ordinal")
        )
    }


def by_evalica(ratings: Ratings, replicates: int) -> Callable[[], dict[str, Any]]:
    import evalica
    import pandas as pd

    # Alpha does not ask who rated, so the first rating of each unit may stand in the first row, and so on.
    order = np.argsort(ratings.unit, kind="stable")
    unit = ratings.unit[order]
    size = np.bincount(unit)
    place = np.arange(len(unit)) - np.repeat(np.cumsum(size) - size, size)
    _refuse_beyond_memory(5 * 8 * int(size.max()) * len(size))
    table = np.full((int(size.max()), len(size)), np.nan)
    table[place, unit] = ratings.value[order]
    frame = pd.DataFrame(table)
    return lambda: {"alpha": float(evalica.alpha(frame, distance="ordinal").alpha)}


def without_each(ratings: Ratings, replicates: int) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        by_rater = one_left_out(ratings.unit, ratings.rater, ratings.value, level="ordinal")
        return {"raters": len(by_rater), "alpha": by_rater[0].alpha_without}

    return work


CONTESTANTS = {
    "ours": ours,
    "krippendorff": package,
    "evalica": by_evalica,
    "without each rater": without_each,
}


def _refuse_beyond_memory(needed: int) -> None:
    available = psutil.virtual_memory().available
    if needed > available:
        print(
            json.dumps({"too_large": f"needs about {needed / 2**30:.0f} GB of {available / 2**30:.0f} free"})
        )
        raise SystemExit


def contest(name: str, folder: Path, replicates: int, rounds: int) -> None:
    """In a process of its own: seconds and peak memory beyond what it had before it began."""
    work = CONTESTANTS[name](Ratings(folder), replicates)
    wall: list[float] = []
    cpu: list[float] = []
    results: dict[str, Any] = {}
    _peak()
    before = psutil.Process().memory_info().rss
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        results = work()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    costs = {
        "seconds": round(statistics.median(wall), 3),
        "cpu_seconds": round(statistics.median(cpu), 3),
        "peak_extra_mb": round((_peak() - before) / MEGABYTE, 1),
    }
    print(json.dumps({**costs, **results}))


def _peak() -> int:
    """The most memory this process has held since the last call: the kernel's mark is set back."""
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    Path("/proc/self/clear_refs").write_text("5")
    return peak


def run(name: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    contestant = ["--contestant", name, "--folder", str(folder)]
    counts = ["--replicates", str(arguments.replicates), "--rounds", str(arguments.rounds)]
    command = [sys.executable, "-m", "benchmarks.agreement", *contestant, *counts]
    ended = subprocess.run(command, cwd=harness.ROOT, stdout=subprocess.PIPE, check=False)
    if ended.returncode:
        return {"failed": f"ended with status {ended.returncode}"}
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def arrays(arguments: argparse.Namespace, folder: Path) -> None:
    figures: dict[str, Any] = {"ratings": arguments.ratings, "replicates": arguments.replicates}
    for name in ("ours", "krippendorff", "evalica"):
        absent = name != "ours" and not harness.installed(name)
        figures[name] = "absent" if absent else run(name, arguments, folder)
    bounds = {"seconds": SECONDS, "peak_extra_mb": MEGABYTES}
    harness.finish(
        "alpha of 10 million ratings with both intervals takes two seconds and a gigabyte",
        figures,
        {name: (figures["ours"][name], bound, "<=") for name, bound in bounds.items()},
    )


def raters(arguments: argparse.Namespace, folder: Path) -> None:
    figures = {"ratings": arguments.ratings, **run("without each rater", arguments, folder)}
    harness.finish("alpha without each of 500 raters takes seconds", figures, {})


def running(arguments: argparse.Namespace, folder: Path) -> None:
    ratings = Ratings(folder)
    alpha, votes = RunningAlpha(range(1, VALUES + 1), "ordinal"), 100_000
    unit, value = (ratings.unit[:votes] % 10_000).tolist(), ratings.value[:votes].tolist()
    used = time.process_time()
    for one, vote in zip(unit, value, strict=True):
        alpha.add(one, vote)
        alpha.alpha()
    each = (time.process_time() - used) / votes * 1e6
    harness.finish(
        "a vote updates alpha in microseconds", {"votes": votes, "cpu_microseconds": round(each, 1)}, {}
    )


def database(arguments: argparse.Namespace) -> None:
    harness.scratch_installation()
    from analytics.data import value_counts
    from analytics.data.questions import measured_questions
    from benchmarks.study_rows import judge, make_study, settle

    start = time.perf_counter()
    study = make_study("rated", n_tasks=3 * arguments.database_ratings // 10, overlap=4)
    n = judge(study, raters=RATERS, each=4, always=3)
    settle()
    loading = time.perf_counter() - start
    (question,) = [one for one in measured_questions(study) if one.key == "correctness"]
    _peak()
    before, seconds, rows = psutil.Process().memory_info().rss, [], 0
    for _ in range(arguments.rounds):
        start = time.perf_counter()
        counted = value_counts.unit_counts(question)
        agreement = krippendorff_alpha(patterns_from_rows(counted.rows), level="ordinal")
        seconds.append(time.perf_counter() - start)
        rows = len(counted.rows)
    harness.finish(
        f"alpha of {n:,} stored ratings takes one GROUP BY; of ten million, 15 seconds at most",
        {
            "ratings": n,
            "rows_to_the_client": rows,
            "client_peak_extra_mb": round((_peak() - before) / MEGABYTE, 1),
            "seconds": [round(one, 2) for one in seconds],
            "loading_seconds": round(loading),
            "alpha": agreement.alpha,
            "jackknife": agreement.ci,
        },
        {"seconds": (round(statistics.median(seconds), 2), round(DATABASE_SECONDS * n / 1e7, 2), "<=")},
    )


PARTS = {"arrays": arrays, "raters": raters, "running": running}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "database", []], default=[])
    parser.add_argument("--ratings", type=int, default=10_000_000)
    parser.add_argument("--database-ratings", type=int, default=10_000_000)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contestant", choices=list(CONTESTANTS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        contest(arguments.contestant, arguments.folder, arguments.replicates, arguments.rounds)
        return
    parts = arguments.parts or [*PARTS, "database"]
    with tempfile.TemporaryDirectory() as folder:
        if set(parts) & set(PARTS):
            Ratings.make(Path(folder), arguments.ratings)
        for part in parts:
            if part in PARTS:
                PARTS[part](arguments, Path(folder))
    if "database" in parts:
        database(arguments)


if __name__ == "__main__":
    main()
