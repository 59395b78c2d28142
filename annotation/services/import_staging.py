"""What an import has read, kept in the database until it is written: a worker that takes over goes on from there."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from annotation.importers.records import RowProblem
from annotation.importers.staged_json import StagedJson
from annotation.models import Clip, Job, JobProblem, StagedImport, StagedSound, StagedTask
from annotation.services import clips, copying

# Of a source no more is held at once, in characters of what is staged, but for a task that has more by itself. As
# records it takes ten times as much.
HELD = 8_000_000
COLUMNS = ("row", "task_name", "item_name", "item_hash", "item", "candidates", "rest", "said")


def columns_of(table: str) -> str:
    return ", ".join(f'{table}."{name}"' for name in COLUMNS)


# Lengths in bytes are known without the texts being read.
_PAGE = f"""
SELECT ordinal, {columns_of("page")} FROM (
    SELECT t.*, sum(octet_length(item) + octet_length(candidates) + coalesce(octet_length(said), 0)) OVER (
        ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM annotation_stagedtask t WHERE job = %s AND ordinal > %s ORDER BY ordinal LIMIT %s
) AS page
WHERE coalesce(before, 0) < %s ORDER BY ordinal
"""
_PROBLEM = ("job_id", "number", "row", "field", "problem", "remedy")


def opened(job: Job, source: Path) -> StagedImport:
    """The job's staging as the last worker left it; begun anew when there is none or the source is another by now."""
    mark = _mark(source)
    staged = StagedImport.objects.filter(pk=job.pk).first()
    if staged is not None and staged.source_mark == mark:
        return staged
    with transaction.atomic():
        discard(job.pk)
        JobProblem.objects.filter(job=job).delete()
        return StagedImport.objects.create(job=job.pk, source_mark=mark)


def _mark(source: Path) -> str:
    """What changes when a file does; a folder's is that of the newest of its files."""
    files = [source, *source.rglob("*")] if source.is_dir() else [source]
    found = [file.stat() for file in files]
    return f"{len(found)} {sum(each.st_size for each in found)} {max(each.st_mtime_ns for each in found)}"


def add(staged: StagedImport, tasks: Sequence[StagedJson], *, first: int) -> None:
    """Keep what was read, in the caller's transaction. `first` is the ordinal of the first task."""
    job = str(staged.job)
    rows = ((job, first + place, *_values(task)) for place, task in enumerate(tasks))
    copying.insert_partly(StagedTask, ("job", "ordinal", *COLUMNS), rows)


def _values(task: StagedJson) -> tuple[Any, ...]:
    return (
        task.row, task.task_name, task.item_name, task.item_hash, task.item, task.candidates, task.rest, task.said,
    )  # fmt: skip


def tell(staged: StagedImport, problems: Sequence[RowProblem]) -> None:
    """Keep problems behind those there are, in the caller's transaction; whoever calls saves `staged`."""
    rows = (
        (staged.job, staged.n_problems + place, *map(printable, astuple(problem)))
        for place, problem in enumerate(problems, 1)
    )
    copying.insert_values(JobProblem._meta.db_table, _PROBLEM, rows)
    staged.n_problems += len(problems)


def printable(text: str) -> str:
    """What PostgreSQL takes: a source may hold zero bytes and half characters where it has its faults."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def pages(
    staged: StagedImport, *, size: int, after: int = -1
) -> Iterator[tuple[list[int], list[StagedJson]]]:
    """Ordinals and tasks in the order of the source: `size` of them at a time, or as many as may be held at once."""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_PAGE, [staged.job, after, size, HELD])
            rows = cursor.fetchall()
        if not rows:
            return
        after = rows[-1][0]
        yield [row[0] for row in rows], [StagedJson(*row[1:]) for row in rows]


def count(staged: StagedImport) -> int:
    return StagedTask.objects.filter(job=staged.job).count()


def drop(staged: StagedImport, ordinals: Collection[int]) -> None:
    StagedTask.objects.filter(job=staged.job, ordinal__in=ordinals).delete()


def put_candidates(staged: StagedImport, candidates: Iterable[tuple[int, str]]) -> None:
    """Give tasks other candidates than the source did: those that an import adds are among them."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE annotation_stagedtask SET candidates = %s WHERE job = %s AND ordinal = %s",
            [(text, staged.job, ordinal) for ordinal, text in candidates],
        )


def discard(job_id: uuid.UUID, *, with_clips: bool = True) -> None:
    """Forget what was staged; `with_clips`, the clips that were made for it as well, unless something has them. Those
    that another job counts on are that job's from then on."""
    if with_clips:
        sounds = StagedSound.objects.filter(job=job_id, created=True)
        made = {sound.clip_id for sound in sounds if sound.clip_id is not None}
        others = StagedSound.objects.exclude(job=job_id).filter(clip_id__in=made)
        others.update(created=True)
        clips.discard(Clip.objects.filter(pk__in=made - set(others.values_list("clip_id", flat=True))))
    for table in (StagedTask, StagedSound, StagedImport):
        table.objects.filter(job=job_id).delete()


def discard_finished() -> None:
    """Forget what was staged for jobs that have ended without doing so: cancelled while nobody was at them, say."""
    unfinished = Job.objects.filter(state__in=Job.UNFINISHED).values_list("pk", flat=True)
    for job_id in StagedImport.objects.exclude(pk__in=unfinished).values_list("pk", flat=True):
        discard(job_id)
