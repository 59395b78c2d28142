"""The door from what systems wrote, and from the reference answers beside it, to texts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from annotation.models import Study

_TEXTS = """
SELECT c.id, c.text, v.reference FROM annotation_candidate c
JOIN annotation_itemversion v ON v.id = c.item_version_id
JOIN annotation_item i ON i.id = v.item_id
WHERE i.study_id = %(study)s AND btrim(c.text) <> '' ORDER BY c.id
"""

_EXTERNAL_IDS = "SELECT id, external_id FROM annotation_item WHERE id = ANY(%(items)s)"


@dataclass(frozen=True)
class Answer:
    """`reference` is empty where the item has none."""

    text: str
    reference: str


def answers(study: Study) -> dict[int, Answer]:
    """By candidate, of those that are texts."""
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, {"study": study.pk})
        return {candidate: Answer(text, reference) for candidate, text, reference in cursor.fetchall()}


def item_names(items: list[int]) -> dict[int, str]:
    """The ids that the items had in their source, by their own."""
    with connection.cursor() as cursor:
        cursor.execute(_EXTERNAL_IDS, {"items": items})
        return dict(cursor.fetchall())
