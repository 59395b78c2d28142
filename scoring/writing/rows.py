"""Rows of a writing run, and the request that a writer is given for each."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from annotation.models import Draft, Item
from scoring.metrics.contract import ExampleError
from scoring.models import Writer, WritingRow, WritingRun
from scoring.runs.rows import filter_condition, sound_of
from scoring.writing.contract import WritingRequest
from scoring.writing.kinds import FIELDS

# What is waited for already, in another run of this writer or of the same system, is not asked for twice.
_INSERT = """
WITH made AS (
    INSERT INTO scoring_writingrow (run_id, item_version_id, system_id, field, state, attempts, fault, reason, text,
                                    cut, wanted, prompt_tokens, completion_tokens, seconds)
    SELECT %(run)s, v.id, %(system)s::bigint, %(field)s, 1, 0, '', '', '', false, false, 0, 0, 0
    FROM annotation_item i
    JOIN annotation_itemversion v ON v.id = i.current_version_id
    WHERE i.study_id = %(study)s AND i.state = %(active)s AND {lacks} {chosen}
      AND NOT EXISTS (
        SELECT FROM scoring_writingrow x JOIN scoring_writingrun y ON y.id = x.run_id
        WHERE x.item_version_id = v.id AND x.state IN (1, 2)
          AND (y.writer_id = %(writer)s OR x.system_id = %(system)s::bigint)
          AND y.purpose <> 'drafts' AND y.state IN ('queued', 'running'))
    ORDER BY i.id
    RETURNING 1
)
SELECT count(*) FROM made
"""
_NO_ANSWER = """
NOT EXISTS (SELECT FROM annotation_candidate c WHERE c.item_version_id = v.id AND c.system_id = %(system)s)
"""
_UNJUDGED = """
 AND NOT EXISTS (SELECT FROM annotation_task t WHERE t.item_version_id = v.id AND t.n_judgments > 0)
"""


def create_rows(run: WritingRun, writer: Writer) -> int:
    """Give a run its rows, in its transaction; how many they are."""
    chosen, values = filter_condition(run.filter)
    if writer.system_id is not None:
        lacks = _NO_ANSWER
    else:
        # The name of a column, and one that the writer's kind allows only.
        lacks = "true" if run.filter.get("anew") else f"btrim(v.{_column(writer.writes)}) = ''"
        chosen += "" if run.filter.get("judged") else _UNJUDGED
    values |= {
        "run": run.pk,
        "writer": writer.pk,
        "study": writer.study_id,
        "active": Item.State.ACTIVE.value,
        "system": writer.system_id,
        "field": "" if writer.system_id else writer.writes,
    }
    with connection.cursor() as cursor:
        cursor.execute(_INSERT.replace("{lacks}", lacks).replace("{chosen}", chosen), values)
        return int(cursor.fetchone()[0])


def _column(writes: str) -> str:
    if writes not in Writer.Writes.values or writes == Writer.Writes.ANSWER:
        raise ValueError(f"{writes} is no field of an item")
    return writes


# ── requests of rows ──


def load_requests(
    run: WritingRun, row_ids: Sequence[int]
) -> tuple[list[WritingRequest], dict[int, ExampleError]]:
    """The requests of these rows, and why some are not to be written any more. One query."""
    rows = WritingRow.objects.filter(pk__in=row_ids).select_related("item_version__clip", "draft")
    requests: list[WritingRequest] = []
    faults: dict[int, ExampleError] = {}
    for row in rows.defer("item_version__clip__peaks").order_by("pk"):
        if row.draft is not None and row.draft.state != Draft.State.WAITING:
            faults[row.pk] = ExampleError("not_wanted", "The case was settled before this draft was written.")
        else:
            requests.append(_request(run, row))
    return requests, faults


def _request(run: WritingRun, row: WritingRow) -> WritingRequest:
    version = row.item_version
    fields = {name: text for name in FIELDS if (text := getattr(version, name).strip())}
    if note := run.filter.get("note"):
        fields["note"] = note
    return WritingRequest(row.pk, sound_of(version.clip) if version.clip else None, fields)
