"""The items of a study with their candidates, in the versions asked for. Audio is named by its hash."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db.models import F, OuterRef, Subquery

from analytics.records.plain import placeless
from annotation.models import Candidate, ItemVersion, Study
from annotation.services.corrected_texts import holds_correction

Row = Mapping[str, Any]
Record = dict[str, Any]

BATCH = 500
# With what models have written into them, as raters judged them; the report's "before the review" is of these too.
_UNCORRECTED = ItemVersion.objects.filter(~holds_correction(), item=OuterRef("item"), retracted=False)
# Which versions: the last before any correction, as they are now (both without the others), or each with its number.
TEXTS: dict[str, dict[str, Any]] = {
    "original": {"pk": Subquery(_UNCORRECTED.order_by("-number").values("pk")[:1])},
    "corrected": {"item__current_version": F("pk")},
    "both": {},
}
_TEXTS = ("prompt", "lyrics", "question", "reference", "rationale", "transcript")
_CLIPS = ("reference_clip", "clip")
_CLIP_FIELDS = ("sha256", "canonical_sha256", "duration_s")


def item_records(study: Study, *, texts: str = "both") -> Iterator[Record]:
    """One record per version that `texts` names, by age. `retracted`: the correction that made it was undone."""
    last = 0
    fields = (
        "id",
        "number",
        "retracted",
        "extra",
        "item__external_id",
        "item__state",
        "item__strata",
        "item__current_version_id",
    )
    versions = ItemVersion.objects.filter(item__study=study, **TEXTS[texts]).order_by("pk")
    while batch := list(
        versions.filter(pk__gt=last).values(*fields, *_TEXTS, *_clip_fields(*_CLIPS))[:BATCH]
    ):
        candidates = _candidates([row["id"] for row in batch])
        for row in batch:
            yield {
                "study": study.slug,
                "item": row["item__external_id"],
                "state": row["item__state"],
                "strata": row["item__strata"],
                "version": row["number"],
                "current": row["id"] == row["item__current_version_id"],
                "retracted": row["retracted"],
                **{name: row[name] for name in _TEXTS},
                **{name: _clip(row, name) for name in _CLIPS},
                "extra": _extra(row["extra"]),
                "candidates": candidates[row["id"]],
            }
        last = batch[-1]["id"]


def _extra(extra: Record) -> Record:
    """As it came; what models wrote here tells by which, but not on whose machine."""
    return {**extra, "written": placeless(extra["written"])} if "written" in extra else extra


def _candidates(version_ids: Collection[int]) -> Mapping[int, list[Record]]:
    found: defaultdict[int, list[Record]] = defaultdict(list)
    rows = Candidate.objects.filter(item_version_id__in=version_ids).order_by("pk")
    fields = (
        "item_version_id",
        "system__name",
        "take",
        "text",
        "carried_from__item_version__number",
        "provenance",
    )
    for row in rows.values(*fields, *_clip_fields("clip")):
        found[row["item_version_id"]].append(
            {
                "system": row["system__name"],
                "take": row["take"],
                "text": row["text"],
                "clip": _clip(row, "clip"),
                "carried_from": row["carried_from__item_version__number"],
                "provenance": placeless(row["provenance"]),
            }
        )
    return found


def _clip_fields(*names: str) -> list[str]:
    return [f"{name}__{field}" for name in names for field in _CLIP_FIELDS]


def _clip(row: Row, name: str) -> Record | None:
    """The hash of the file that was handed in, and of the canonical FLAC that raters hear."""
    if row[f"{name}__sha256"] is None:
        return None
    return {
        "sha256": row[f"{name}__sha256"],
        "canonical_sha256": row[f"{name}__canonical_sha256"],
        "seconds": row[f"{name}__duration_s"],
    }
