"""Bringing a million items in, and taking a million judgments out, beside PostgreSQL's COPY of the same rows.

    python -m benchmarks.import_export in [--items 1000000]
    python -m benchmarks.import_export out [--judgments 1000000]

`in`: a JSONL file of comparisons of two text answers (a pair per line, no audio) is imported by the product's own job,
in a process of its own. The rows it left are then copied out, the tables emptied, and the same rows loaded into them
by COPY … FROM, with the same indexes and constraints, in one transaction.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, finish, peak_mb, scratch_installation

TABLES = (
    "annotation_item",
    "annotation_itemversion",
    "annotation_candidate",
    "annotation_task",
    "annotation_taskcandidate",
)
SENTENCE = (
    "a bell rings twice while rain falls on a tin roof and somebody far away calls a name nobody answers and then a"
    " train passes slowly over wet rails before the room grows quiet"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("direction", choices=("in", "out", "import-here"))
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.direction == "import-here":
        _run_job(options.job)
    elif options.direction == "in":
        _measure_in(options.items)
    else:
        from benchmarks import release_rate

        release_rate.report(options.judgments)


def _measure_in(items: int) -> None:
    home = scratch_installation()
    source = home / "pairs.jsonl"
    _write_pairs(source, items)
    from annotation.importing import import_jobs
    from annotation.models import Job

    job = import_jobs.start(_study(), source, format="jsonl", actor=None)
    started = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.import_export", "import-here", "--job", str(job.pk)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds = time.monotonic() - started
    job = Job.objects.get(pk=job.pk)
    assert job.state == "done", (job.message, job.report)
    facts = json.loads(ended.stdout)
    copied, rows = _copy_again(home)
    finish(
        "a million items from JSONL at 30 % of the rate of COPY, within 512 MB",
        {
            "items": items,
            "rows": rows,
            "import_seconds": round(seconds, 1),
            "import_cpu_seconds": facts["cpu_seconds"],
            "stage_seconds": facts["stages"],
            "copy_seconds": round(copied, 1),
            "source_mb": round(source.stat().st_size / 1e6),
        },
        {
            "share_of_copy_rate": (round(copied / seconds, 3), 0.3, ">="),
            "peak_rss_mb": (facts["peak_rss_mb"], 512, "<="),
        },
    )


def _study() -> Any:
    """A study of pairs of texts. Its protocol is FENSE's, asked of texts without a sound."""
    from annotation.models import Study
    from annotation.protocols import definition_of_preset
    from annotation.studies import protocols

    study = Study.objects.create(slug="pairs", title="Pairs", overlap=3)
    definition = {**definition_of_preset("fense"), "content": ["prompt"], "listening": {}}
    protocols.add_protocol_version(study, definition=definition, actor=None)
    return study


def _write_pairs(source: Path, items: int) -> None:
    sentence = SENTENCE.split()
    with source.open("w") as file:
        for number in range(items):
            turn = number % len(sentence)
            words = [*sentence[turn:], *sentence[:turn]]
            row = {
                "item_id": f"clip-{number:07}",
                "prompt": f"What is heard in clip {number}: {' '.join(words[:6])}?",
                "system_a": f"model-{number % 7}",
                "answer_a": f"{' '.join(words[:12])} ({number})",
                "system_b": f"model-{7 + number % 5}",
                "answer_b": f"{' '.join(words[12:26])} [{number}]",
            }
            file.write(json.dumps(row) + "\n")


def _run_job(job_id: str) -> None:
    """In a process of its own: what a worker does, with its peak of memory and the time of each stage."""
    import os
    import uuid

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from annotation.jobs import jobs

    stages: dict[str, float] = {}
    genuine = jobs.RunningJob.progress
    last: list[Any] = [time.monotonic(), "start"]

    def timed(running: jobs.RunningJob, done: int, total: int | None = None, *, stage: str = "") -> None:
        if stage != last[1]:
            now = time.monotonic()
            stages[last[1]] = round(stages.get(last[1], 0) + now - last[0], 1)
            last[:] = [now, stage]
        genuine(running, done, total, stage=stage)

    jobs.RunningJob.progress = timed  # type: ignore[method-assign]
    jobs.run(uuid.UUID(job_id))
    stages[last[1]] = round(stages.get(last[1], 0) + time.monotonic() - last[0], 1)
    cpu = round(time.process_time(), 1)
    print(json.dumps({"peak_rss_mb": peak_mb(), "cpu_seconds": cpu, "stages": stages}))


def _copy_again(home: Path) -> tuple[float, int]:
    """The seconds that COPY takes for the rows of the tables, and their number."""
    from django.db import connection, transaction

    columns = {table: _columns(table) for table in TABLES}
    for table in TABLES:
        with (
            connection.cursor() as cursor,
            (home / table).open("wb") as file,
            cursor.copy(f"COPY {table} ({columns[table]}) TO STDOUT") as copy,
        ):
            for block in copy:
                file.write(block)
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(TABLES)} CASCADE")
    rows = 0
    started = time.monotonic()
    with transaction.atomic():
        for table in TABLES:
            with connection.cursor() as cursor:
                with (
                    (home / table).open("rb") as file,
                    cursor.copy(f"COPY {table} ({columns[table]}) FROM STDIN") as copy,
                ):
                    while block := file.read(1 << 18):
                        copy.write(block)
                rows += cursor.rowcount
    return time.monotonic() - started, rows


def _columns(table: str) -> str:
    from django.apps import apps

    [model] = [model for model in apps.get_models() if model._meta.db_table == table]
    return ", ".join(f'"{field.column}"' for field in model._meta.concrete_fields if not field.generated)


if __name__ == "__main__":
    main()
