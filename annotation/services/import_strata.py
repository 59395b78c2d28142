"""Strata that a source gives otherwise than the import before it: they stay as they are, which is told."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db import connection

from annotation.models import StagedImport, Study

# Rows about one item may differ in their strata, and the first row's stand: so the first is what counts here, too.
# Strata that a source does not name are not contradicted. `rest` is taken apart before its strata are made `jsonb`:
# names of columns may be what no `jsonb` holds.
_OTHERWISE = """
WITH firsts AS (
    SELECT item_name, min(ordinal) AS ordinal FROM annotation_stagedtask WHERE job = %(job)s GROUP BY item_name
), found AS (
    SELECT s.ordinal, s."row", s.item_name, (s.rest::json -> 0)::jsonb AS said, i.strata
    FROM firsts
    JOIN annotation_stagedtask s ON s.job = %(job)s AND s.ordinal = firsts.ordinal
    JOIN annotation_item i ON i.study_id = %(study)s AND i.external_id = firsts.item_name
)
SELECT count(*) OVER (), "row", item_name, said, strata FROM found
WHERE NOT strata @> said ORDER BY ordinal LIMIT 1
"""


def notes(study: Study, staged: StagedImport) -> list[str]:
    """How many items the study has in other strata than the source says, with the first of them."""
    with connection.cursor() as cursor:
        cursor.execute(_OTHERWISE, {"job": staged.job, "study": study.pk})
        found = cursor.fetchone()
    if found is None:
        return []
    n, row, item, said, there = found
    items = f"{n:,} items have" if n > 1 else "1 item has"
    example = _first_difference(json.loads(said), json.loads(there))
    return [
        f"{items} other strata here than in the study, where they stay as they are: of {item!r} (row {row}) {example}."
    ]


def _first_difference(said: Mapping[str, str], there: Mapping[str, str]) -> str:
    name = min(name for name, value in said.items() if there.get(name) != value)
    before = f"is {there[name]!r} there" if name in there else "is not there"
    return f"{name} is {said[name]!r} here and {before}"
