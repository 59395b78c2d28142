"""How fast a release of a large study is written, beside PostgreSQL's own COPY of the same joined rows.

    python benchmarks/release_rate.py [--judgments 1000000]

Both read in this process over the same connection, under the same settings and in a transaction of the same kind, so
that PostgreSQL plans the same; what COPY sends is thrown away. The release writes Parquet and JSON
Lines of all its tables and hashes them.

Then a study of the same size with listening logs is released twice, by the product's own job: the second release is
compared with the first, of which it excludes a tenth. Memory is this process's own, highest at any moment; PostgreSQL's
is not in it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import harness

TARGET_SHARE, TARGET_MB = 0.30, 512
_RATERS = 200
_PER_TASK = 5
# By turns, the best of each: what else the machine does then weighs on both alike.
_ROUNDS = 2

_PEOPLE = """
INSERT INTO annotation_rater (study_id, pseudonym, external_id, origin, state, cursor, n_judgments, n_surplus, n_skips,
                              n_tasks_filled, created_at)
SELECT %(study)s, 'R-' || n, '', 'simulated', 'active', 0, 0, 0, 0, 0, now() FROM generate_series(1, %(raters)s) n
"""
_SAID = """
WITH judgment AS (
    INSERT INTO annotation_judgment
        (study_id, task_id, rater_id, protocol_version_id, client_id, payload_sha256, origin, revision, effective,
         excluded, surplus, presentation, codes, comment, telemetry, started_at, submitted_at)
    SELECT %(study)s, t.id, r.first + (t.id * 7 + n) %% %(raters)s, %(protocol)s, gen_random_uuid(), '\\x00', 3, 1,
           true, false, false, '{0}', CASE WHEN t.id %% 10 = 0 THEN ARRAY['R'] ELSE '{}' END,
           CASE WHEN t.id %% 20 = 0 THEN 'It is a "gong", not a bell.' ELSE '' END, %(log)s, now(), now()
    FROM annotation_task t, generate_series(1, %(per_task)s) n,
         (SELECT min(id) AS first FROM annotation_rater WHERE study_id = %(study)s) r
    WHERE t.study_id = %(study)s
    RETURNING id, task_id
)
INSERT INTO annotation_answer (judgment_id, task_id, question_id, value, text, counted)
SELECT id, task_id, %(question)s, 1 + id %% 5, '', true FROM judgment
"""
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
    from django.db import connection

    from annotation.models import Question
    from benchmarks import study_rows

    study = study_rows.make_study(
        f"released-{'heard-' if log else ''}{n}", n_tasks=-(-n // _PER_TASK), overlap=_PER_TASK
    )
    asked = Question.objects.get(protocol_version=study.protocol_version, key="correctness")
    values = {
        "study": study.pk, "raters": _RATERS, "per_task": _PER_TASK, "question": asked.pk,
        "protocol": study.protocol_version_id, "log": json.dumps(log) if log else None,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, values)
        cursor.execute(_SAID, values)
        cursor.execute("VACUUM ANALYZE")
    return study


def measure(n: int) -> dict[str, Any]:
    """Fill a study, COPY its joined rows and release it. Needs a database of its own (`harness`)."""
    from analytics.datasets import columnar, snapshot, table_files
    from analytics.datasets.release_tables import RELEASE_TABLES
    from analytics.datasets.snapshot import ReleaseOptions

    study = fill(n)
    drawn, then = snapshot.draw_snapshot(study)
    made = snapshot.study_snapshot(then, drawn, number=1, wishes=ReleaseOptions())
    params = {**drawn.params(study), "audio": ""}
    before = _peak_mb()
    copied, released = [], []
    for _ in range(_ROUNDS):
        copied.append(_copied(RELEASE_TABLES["judgments"].select, params))
        with tempfile.TemporaryDirectory() as scratch:
            start, cpu = time.perf_counter(), time.process_time()
            manifest = table_files.write_release(made, study, out=Path(scratch) / "release")
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
        "peak_mb": _peak_mb(),
    }


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
    told = study.releases.get(number=2).differences["tables"]
    assert told["judgments"]["changed"]["rows"] > 0
    assert told.keys() == {"judgments", "raters"}
    return {
        "second_changed": told["judgments"]["changed"]["rows"],
        "first_job_seconds": seconds[0],
        "second_job_seconds": seconds[1],
        "second_peak_mb": _peak_mb(),
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


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def report(judgments: int) -> None:
    """Measure in a database of its own, print, and end with an error where a bar is missed."""
    harness.scratch_installation()
    result = {**measure(judgments), **measure_second(judgments)}
    harness.finish(
        "a release is written at a good part of the rate at which COPY reads its rows",
        result,
        {
            "share of COPY's rate": (result["share_of_copy"], TARGET_SHARE, ">="),
            "peak MB": (result["peak_mb"], TARGET_MB, "<="),
            "peak MB of a second release": (result["second_peak_mb"], TARGET_MB, "<="),
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    report(parser.parse_args().judgments)


if __name__ == "__main__":
    main()
