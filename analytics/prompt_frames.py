"""The door from what systems were asked for, and how long what they made is, to columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics import binary_copy
from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.vote_frames import BoolArray
from annotation.models import Study

_MADE = """
SELECT c.id, (btrim(v.lyrics) <> '')::int::int2, (v.reference_clip_id IS NOT NULL)::int::int2,
       coalesce(k.duration_s, 'NaN')::float8
FROM annotation_candidate c
JOIN annotation_itemversion v ON v.id = c.item_version_id
JOIN annotation_item i ON i.id = v.item_id
LEFT JOIN annotation_clip k ON k.id = c.clip_id
WHERE i.study_id = %(study)s ORDER BY c.id
"""
_TYPES = {"candidate": "int8", "lyrics": "int2", "reference": "int2", "seconds": "float8"}


@dataclass(frozen=True, eq=False)
class Made:
    """A row per candidate of a study, by id: whether its item has lyrics and a reference clip, and the seconds of its
    own clip, NaN of a text."""

    candidate: IntArray
    lyrics: BoolArray
    reference: BoolArray
    seconds: FloatArray

    def rows(self, candidates: IntArray) -> IntArray:
        """Where these candidates, all of the study, are."""
        return np.asarray(np.searchsorted(self.candidate, candidates))


def made(study: Study) -> Made:
    found = binary_copy.columns(_MADE, _TYPES, {"study": study.pk})
    return Made(
        candidate=found["candidate"],
        lyrics=found["lyrics"] == 1,
        reference=found["reference"] == 1,
        seconds=found["seconds"],
    )
