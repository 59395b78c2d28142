"""The second stage of an import: one row per task. Fragments are joined, and what contradicts itself within the source
is told, by the database: a source may hold millions of rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db import connection, transaction

from annotation.importers import merging
from annotation.importers.records import RowProblem, TaskRecord
from annotation.importers.staged_json import StagedJson, decoded
from annotation.models import StagedImport
from annotation.services import import_staging
from annotation.services.import_staging import COLUMNS, columns_of

_BATCH = 1000
# Rows that hold two tasks each, with their texts.
_FEW = 10
# Fragments that differ from the first of their task in what they must agree in.
_DIFFERENT = f"""
WITH several AS (
    SELECT task_name, min(ordinal) AS first FROM annotation_stagedtask WHERE job = %(job)s
    GROUP BY task_name HAVING count(*) > 1
)
SELECT o.ordinal, {columns_of("f")}, {columns_of("o")}
FROM several
JOIN annotation_stagedtask f ON f.job = %(job)s AND f.ordinal = several.first
JOIN annotation_stagedtask o ON o.job = %(job)s AND o.task_name = several.task_name AND o.ordinal <> f.ordinal
WHERE (o.item_name, o.item, o.candidates) <> (f.item_name, f.item, f.candidates)
ORDER BY o.ordinal
"""
_JOIN = """
WITH several AS (
    SELECT task_name, min(ordinal) AS first, string_agg(said, ',' ORDER BY ordinal) AS said
    FROM annotation_stagedtask WHERE job = %(job)s GROUP BY task_name HAVING count(*) > 1
)
UPDATE annotation_stagedtask t SET said = several.said
FROM several WHERE t.job = %(job)s AND t.ordinal = several.first
"""
_DROP_JOINED = """
DELETE FROM annotation_stagedtask t USING (
    SELECT task_name, min(ordinal) AS first FROM annotation_stagedtask WHERE job = %(job)s
    GROUP BY task_name HAVING count(*) > 1
) AS several
WHERE t.job = %(job)s AND t.task_name = several.task_name AND t.ordinal <> several.first
"""
# Tasks about one item must agree on what the item is.
_OTHER_ITEM = """
WITH several AS (
    SELECT item_name, min(ordinal) AS first FROM annotation_stagedtask WHERE job = %(job)s
    GROUP BY item_name HAVING min(item_hash) <> max(item_hash)
)
SELECT o.ordinal, o."row", o.item_name, f."row"
FROM several
JOIN annotation_stagedtask f ON f.job = %(job)s AND f.ordinal = several.first
JOIN annotation_stagedtask o ON o.job = %(job)s AND o.item_name = several.item_name AND o.item_hash <> f.item_hash
ORDER BY o.ordinal
"""


def join(staged: StagedImport) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_stagedtask")
        cursor.execute("SET LOCAL work_mem = '128MB'")
        _leave_out(staged, _different(staged))
        cursor.execute(_JOIN, {"job": staged.job})
        if cursor.rowcount:
            cursor.execute(_DROP_JOINED, {"job": staged.job})
        _leave_out(staged, _other_items(staged))
        staged.joined = True
        staged.save()


def _leave_out(staged: StagedImport, found: Iterator[tuple[int, RowProblem]]) -> None:
    while batch := list(islice(found, _BATCH)):
        import_staging.tell(staged, [problem for _, problem in batch])
        import_staging.drop(staged, [ordinal for ordinal, _ in batch])


def _different(staged: StagedImport) -> Iterator[tuple[int, RowProblem]]:
    n = len(COLUMNS)
    for ordinal, *values in _streamed(_DIFFERENT, staged, _FEW):
        problem = merging.contradiction(_task(values[:n]), _task(values[n:]))
        assert problem is not None
        yield ordinal, problem


def _task(values: list[Any]) -> TaskRecord:
    return decoded(StagedJson(*values))


def _other_items(staged: StagedImport) -> Iterator[tuple[int, RowProblem]]:
    for ordinal, row, item, first in _streamed(_OTHER_ITEM, staged, _BATCH):
        problem = f"item {item!r} has other content on row {first}"
        remedy = "Give it another item id, or make the texts the same."
        yield ordinal, RowProblem(row, "item", problem, remedy)


def _streamed(query: str, staged: StagedImport, together: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, which are not changed by what is dropped meanwhile."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(query, {"job": staged.job})
        while rows := cursor.fetchmany(together):
            yield from rows
