"""Every correction of a study: field by field what it was, what it became, who changed it, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analytics.records.people import Person, accounts_gone, people_of
from analytics.records.plain import placeless, utc
from annotation.models import Correction, Study

Record = dict[str, Any]

BATCH = 2000


def correction_records(study: Study) -> Iterator[Record]:
    """In the order made. `undone`: the version it made was taken back, and is not the item's text. Of an author who has
    withdrawn, comment and time are not told; what they made of the item is."""
    rows = Correction.objects.filter(version_after__item__study=study).order_by("pk")
    known, gone = people_of(study), accounts_gone(study)
    read = rows.select_related("version_before", "version_after__item", "draft")
    for row in read.iterator(chunk_size=BATCH):
        author, has_gone = known.get(row.author_id, Person()), row.author_id in gone
        yield {
            "study": study.slug,
            "item": row.version_after.item.external_id,
            "version_before": row.version_before.number,
            "version_after": row.version_after.number,
            "undone": row.version_after.retracted,
            "case": row.case_id,
            "field": row.field,
            "before": row.before,
            "after": row.after,
            "reason": row.reason,
            "comment": "" if has_gone else row.comment,
            "origin": row.origin,
            "draft_writer": row.draft.writer if row.draft else "",
            "draft_text": row.draft.text if row.draft else "",
            "draft_provenance": placeless(row.draft.provenance) if row.draft else None,
            "author": author.pseudonym,
            "author_role": author.role,
            "corrected_at": None if has_gone else utc(row.created_at),
        }
