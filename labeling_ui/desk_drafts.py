"""Models' drafts of an item's texts as the desk shows them beside the field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.models import Draft, ReviewCase
from labeling_ui.review_words import FIELDS
from scoring.models import Writer
from scoring.services import writing_drafts


@dataclass(frozen=True)
class DraftLine:
    """`made_by`: what wrote it, as its provenance says: model, prompt, when."""

    draft: Draft
    made_by: tuple[str, ...]


@dataclass(frozen=True)
class FieldDrafts:
    """The drafts of one field, the newest first, and the writers that can be asked for another."""

    name: str
    title: str
    lines: tuple[DraftLine, ...]
    writers: tuple[Writer, ...]

    @property
    def is_awaited(self) -> bool:
        return any(line.draft.state == Draft.State.WAITING for line in self.lines)


def of_field(case: ReviewCase, field: str) -> FieldDrafts:
    found = case.drafts.filter(field=field, item_version_id=case.item_version_id).order_by("-pk")
    return field_drafts(field, found, writing_drafts.writers_for(case))


def of_case(case: ReviewCase, fields: Sequence[str]) -> dict[str, FieldDrafts]:
    """By field, in the queries of one."""
    found = list(case.drafts.filter(item_version_id=case.item_version_id).order_by("-pk"))
    writers = writing_drafts.writers_for(case)
    return {
        field: field_drafts(field, [draft for draft in found if draft.field == field], writers)
        for field in fields
    }


def field_drafts(field: str, found: Iterable[Draft], writers: Iterable[Writer]) -> FieldDrafts:
    return FieldDrafts(
        name=field,
        title=str(FIELDS.get(field, field)),
        lines=tuple(DraftLine(draft, tuple(_made_by(draft))) for draft in found),
        writers=tuple(writer for writer in writers if writer.writes == field),
    )


def _made_by(draft: Draft) -> Iterable[str]:
    """What people can tell a draft's origin by; the rest of its provenance is kept with it."""
    for name in ("model", "backbone", "prompt"):
        told = draft.provenance.get(name)
        if isinstance(told, dict):
            told = told.get("name")
        if isinstance(told, str) and told:
            yield told
