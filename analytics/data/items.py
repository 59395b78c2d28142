"""The door from what systems were asked for, and how long what they made is, to columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.db import connection

from analytics.data import postgres
from analytics.data.postgres import BoolArray
from analytics.statistics.arrays import FloatArray, IntArray
from annotation.models import Item, Study


def item_external_ids(item_ids: Iterable[int]) -> dict[int, str]:
    """What the study calls its items, by database id."""
    return dict(Item.objects.filter(pk__in=list(item_ids)).values_list("pk", "external_id"))


# The door from what systems wrote, and from the reference answers beside it, to texts.


_TEXTS = """
SELECT c.id, c.text, v.reference FROM annotation_candidate c
JOIN annotation_itemversion v ON v.id = c.item_version_id
JOIN annotation_item i ON i.id = v.item_id
WHERE i.study_id = %(study)s AND btrim(c.text) <> '' ORDER BY c.id
"""

_EXTERNAL_IDS = "SELECT id, external_id FROM annotation_item WHERE id = ANY(%(items)s)"


@dataclass(frozen=True)
class CandidateText:
    """`reference` is empty where the item has none."""

    text: str
    reference: str


def candidate_texts(study: Study) -> dict[int, CandidateText]:
    """By candidate, of those that are texts."""
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, {"study": study.pk})
        return {candidate: CandidateText(text, reference) for candidate, text, reference in cursor.fetchall()}


def item_names(items: list[int]) -> dict[int, str]:
    """The ids that the items had in their source, by their own."""
    with connection.cursor() as cursor:
        cursor.execute(_EXTERNAL_IDS, {"items": items})
        return dict(cursor.fetchall())


_CANDIDATE_FACTS = """
SELECT c.id, (btrim(v.lyrics) <> '')::int::int2, (v.reference_clip_id IS NOT NULL)::int::int2,
       coalesce(k.duration_s, 'NaN')::float8
FROM annotation_candidate c
JOIN annotation_itemversion v ON v.id = c.item_version_id
JOIN annotation_item i ON i.id = v.item_id
LEFT JOIN annotation_clip k ON k.id = c.clip_id
WHERE i.study_id = %(study)s ORDER BY c.id
"""
_FACT_TYPES = {"candidate": "int8", "lyrics": "int2", "reference": "int2", "seconds": "float8"}


@dataclass(frozen=True, eq=False)
class CandidateFacts:
    """A row per candidate of a study, by id: whether its item has lyrics and a reference clip, and the seconds of its
    own clip, NaN of a text."""

    candidate: IntArray
    lyrics: BoolArray
    reference: BoolArray
    seconds: FloatArray

    def rows(self, candidates: IntArray) -> IntArray:
        """Where these candidates, all of the study, are."""
        return np.asarray(np.searchsorted(self.candidate, candidates))


def candidate_facts(study: Study) -> CandidateFacts:
    found = postgres.copy_columns(_CANDIDATE_FACTS, _FACT_TYPES, {"study": study.pk})
    return CandidateFacts(
        candidate=found["candidate"],
        lyrics=found["lyrics"] == 1,
        reference=found["reference"] == 1,
        seconds=found["seconds"],
    )
