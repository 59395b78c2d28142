"""How fast a release of a large study is written, beside PostgreSQL's own COPY of the same joined rows.

    python -m benchmarks.release_rate [--judgments 1000000]

Both read in this process over the same connection, under the same settings and in a transaction of the same kind, so
that PostgreSQL plans the same; what COPY sends is thrown away. The release writes Parquet and JSON
Lines of all its tables and hashes them.

The same study is then exported in each format, items and all, by turns with that COPY.

Then a study of the same size with listening logs is released twice, by the product's own job: the second release is
compared with the first, of which it excludes a tenth. Memory is this process's own, highest at any moment; PostgreSQL's
is not in it.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import harness

TARGET_SHARE, TARGET_MB = 0.30, 512
# Of the rate at which COPY reads the joined rows of the judgments; and the memory of the process that exports.
EXPORT_SHARES = {"jsonl": 0.6, "csv": 0.45, "parquet": 0.45}
EXPORT_MB = 300
_RATERS = 200
_PER_TASK = 5
# By turns, the best of each: what else the machine does then weighs on both alike.
_ROUNDS = 2

_EXCLUDED = """
INSERT INTO annotation_exclusion (study_id, judgment_id, action, reason, comment, created_at)
SELECT study_id, id, 'exclude', 'careless', '', now() FROM annotation_judgment WHERE study_id = %s AND id %% 10 = 0
"""
# What a browser observes of somebody who listens to two clips and changes between them.
_LOG = {
    "heard": [[[round(0.37 * n, 2), round(0.37 * n + 0.31, 2)] for n in range(8)] for _ in range(2)],
    "switches": 9,
    "volume": 0.8,
}


def fill(n: int, *, log: dict[str, Any] | None = None) -> Any:
    """A study with this many judgments, each with one answer and, where one is given, this listening log."""
    from annotation.models import Judgment
    from benchmarks import study_rows

    slug = f"released-{'heard-' if log else ''}{n}"
    study = study_rows.make_study(slug, n_tasks=-(-n // _PER_TASK), overlap=_PER_TASK)
    study_rows.judge(
        study,
        raters=_RATERS,
        each=_PER_TASK,
        log=json.dumps(log) if log else None,
        origin=Judgment.Origin.SIMULATED,
        bookkeeping=True,
    )
    return study


def measure(n: int) -> dict[str, Any]:
    """COPY the joined rows of the study that `fill` has made, and release it."""
    from analytics.datasets import columnar, snapshot, table_files
    from analytics.datasets.release_tables import RELEASE_TABLES
    from analytics.datasets.snapshot import ReleaseOptions
    from annotation.models import Study

    study = Study.objects.get(slug=f"released-{n}")
    drawn, then = snapshot.draw_snapshot(study)
    release = snapshot.study_snapshot(then, drawn, number=1, wishes=ReleaseOptions())
    params = {**drawn.params(study), "audio": "", "with_excluded": True}
    before = harness.peak_mb()
    copied, released = [], []
    for _ in range(_ROUNDS):
        copied.append(_copied(RELEASE_TABLES["judgments"].select, params))
        with tempfile.TemporaryDirectory() as scratch:
            start, cpu = time.perf_counter(), time.process_time()
            manifest = table_files.write_release(release, study, out=Path(scratch) / "release")
            released.append((time.perf_counter() - start, time.process_time() - cpu))
    seconds, cpu = min(released)
    mb = sum(file["bytes"] for file in manifest["files"].values()) / 1e6
    rows = manifest["configs"]["judgments"]["rows"]
    return {
        "judgments": n,
        "rows": rows,
        "block_rows": columnar.BLOCK_ROWS,
        "copy_seconds": round(min(copied), 2),
        "copy_workers_planned": _workers(RELEASE_TABLES["judgments"].select, params),
        "release_seconds": round(seconds, 2),
        "release_cpu_seconds": round(cpu, 2),
        "release_mb": round(mb, 1),
        "share_of_copy": round(min(copied) / seconds, 3),
        "peak_mb_before": before,
        "peak_mb": harness.peak_mb(),
    }


def measure_exports(n: int) -> dict[str, Any]:
    """Export the study that `fill` has made, in each format, beside COPY of its judgments."""
    from analytics.datasets import exports, snapshot
    from analytics.datasets.release_tables import RELEASE_TABLES
    from annotation.models import Study

    study = Study.objects.get(slug=f"released-{n}")
    select = RELEASE_TABLES["judgments"].select
    params = {**snapshot.visible_bounds(study).params(study), "audio": "", "with_excluded": True}
    figures: dict[str, Any] = {}
    for format in EXPORT_SHARES:
        copied, exported = [], []
        for _ in range(_ROUNDS):
            copied.append(_copied(select, params))
            with tempfile.TemporaryDirectory() as scratch:
                start, cpu = time.perf_counter(), time.process_time()
                exports.write_export(study, format=format, out=Path(scratch) / "export")
                exported.append((time.perf_counter() - start, time.process_time() - cpu))
        seconds, cpu = min(exported)
        figures |= {
            f"{format}_seconds": round(seconds, 2),
            f"{format}_cpu_seconds": round(cpu, 2),
            f"{format}_share_of_copy": round(min(copied) / seconds, 3),
            f"{format}_peak_mb": harness.peak_mb(),
        }
    return figures


def measure_second(n: int) -> dict[str, Any]:
    """Release a study with listening logs twice, with a tenth of it excluded in between."""
    from django.db import connection

    from analytics.datasets import releases
    from analytics.datasets.snapshot import ReleaseOptions
    from annotation.jobs import jobs

    study = fill(n, log=_LOG)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        job = releases.start_release(study, ReleaseOptions(), actor=None)
        jobs.run_inline(job)
        assert job.state == "done", job.message
        seconds.append(round(time.perf_counter() - start, 2))
        with connection.cursor() as cursor:
            cursor.execute(_EXCLUDED, [study.pk])
    differences = study.releases.get(number=2).differences["tables"]
    assert differences["judgments"]["changed"]["rows"] > 0
    assert differences.keys() == {"judgments", "raters"}
    return {
        "second_changed": differences["judgments"]["changed"]["rows"],
        "first_job_seconds": seconds[0],
        "second_job_seconds": seconds[1],
        "second_peak_mb": harness.peak_mb(),
    }


def _copied(select: str, params: dict[str, Any]) -> float:
    """Seconds that it takes to receive the rows of a SELECT by COPY."""
    from django.db import connection

    from analytics.data.postgres import consistent_snapshot
    from analytics.datasets import columnar

    statement = connection.ops.compose_sql(f"COPY ({select}) TO STDOUT", params)
    start = time.perf_counter()
    with consistent_snapshot(), connection.cursor() as cursor:
        cursor.execute(columnar.SETTINGS)
        with cursor.copy(statement) as copy:
            for _ in copy:
                pass
    return time.perf_counter() - start


def _workers(select: str, params: dict[str, Any]) -> int:
    """How many processes PostgreSQL means to have beside the one that sends; 0 where it reads alone."""
    from django.db import connection

    from analytics.data.postgres import consistent_snapshot
    from analytics.datasets import columnar

    with consistent_snapshot(), connection.cursor() as cursor:
        cursor.execute(columnar.SETTINGS)
        cursor.execute(connection.ops.compose_sql(f"EXPLAIN {select}", params))
        planned = [line for (line,) in cursor.fetchall() if "Workers Planned" in line]
    return max((int(line.rpartition(":")[2]) for line in planned), default=0)


def report(judgments: int) -> None:
    """Measure in a database of its own, print, and end with an error where a bar is missed."""
    harness.scratch_installation()
    fill(judgments)
    result = {**measure_exports(judgments), **measure(judgments), **measure_second(judgments)}
    harness.finish(
        "a release is written at a good part of the rate at which COPY reads its rows",
        result,
        {
            **{
                f"share of COPY's rate, export as {format}": (result[f"{format}_share_of_copy"], share, ">=")
                for format, share in EXPORT_SHARES.items()
            },
            "peak MB of exports": (result["parquet_peak_mb"], EXPORT_MB, "<="),
            "share of COPY's rate": (result["share_of_copy"], TARGET_SHARE, ">="),
            "peak MB": (result["peak_mb"], TARGET_MB, "<="),
            "peak MB of a second release": (result["second_peak_mb"], TARGET_MB, "<="),
        },
    )


def main() -> None:
    report(harness.options(__doc__, judgments=1_000_000).judgments)


if __name__ == "__main__":
    main()
