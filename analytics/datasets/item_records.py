"""Export records of item versions with their candidates, and of tasks with their counted judgments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery

from analytics.datasets.values import TEXT_FIELDS, Record, grouped, plain_number, utc_text, without_paths
from annotation.items.corrections import holds_correction
from annotation.models import Answer, Candidate, ItemVersion, Judgment, Rater, Study, Task, TaskCandidate
from annotation.rating import counted

Row = Mapping[str, Any]

BATCH = 500


def original_version(item: str) -> Subquery:
    """The key of the last version before any correction, of the item at this path, with the texts that models wrote
    into it: as raters judged it before the review."""
    versions = ItemVersion.objects.filter(~holds_correction(), item=OuterRef(item), retracted=False)
    return Subquery(versions.order_by("-number").values("pk")[:1])


# Which versions: the last before any correction, as they are now (both without the others), or each with its number.
TEXT_VERSIONS: dict[str, dict[str, Any]] = {
    "original": {"pk": original_version("item")},
    "corrected": {"item__current_version": F("pk")},
    "both": {},
}
_ITEM_CLIPS = ("reference_clip", "clip")
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
    versions = ItemVersion.objects.filter(item__study=study, **TEXT_VERSIONS[texts]).order_by("pk")
    while batch := list(
        versions.filter(pk__gt=last).values(*fields, *TEXT_FIELDS, *_clip_fields(*_ITEM_CLIPS))[:BATCH]
    ):
        candidates = _item_candidates([row["id"] for row in batch])
        for row in batch:
            yield {
                "study": study.slug,
                "item": row["item__external_id"],
                "state": row["item__state"],
                "strata": row["item__strata"],
                "version": row["number"],
                "current": row["id"] == row["item__current_version_id"],
                "retracted": row["retracted"],
                **{name: row[name] for name in TEXT_FIELDS},
                **{name: _clip(row, name) for name in _ITEM_CLIPS},
                "extra": _extra(row["extra"]),
                "candidates": candidates[row["id"]],
            }
        last = batch[-1]["id"]


def _extra(extra: Record) -> Record:
    """As it came; what models wrote here tells by which, but not on whose machine."""
    return {**extra, "written": without_paths(extra["written"])} if "written" in extra else extra


def _item_candidates(version_ids: Collection[int]) -> Mapping[int, list[Record]]:
    rows = Candidate.objects.filter(item_version_id__in=version_ids).order_by("pk")
    fields = (
        "item_version_id",
        "system__name",
        "take",
        "text",
        "carried_from__item_version__number",
        "provenance",
    )
    return grouped(
        (
            row["item_version_id"],
            {
                "system": row["system__name"],
                "take": row["take"],
                "text": row["text"],
                "clip": _clip(row, "clip"),
                "carried_from": row["carried_from__item_version__number"],
                "provenance": without_paths(row["provenance"]),
            },
        )
        for row in rows.values(*fields, *_clip_fields("clip"))
    )


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


# Tasks.

_TASK_CLIPS = ("clip", "reference_clip")
_ITEM = "item_version__"
_READ = (
    "id", "external_id", "item_version_id", "item_version__item__external_id", "item_version__item__strata",
    "item_version__number", *(_ITEM + name for name in TEXT_FIELDS),
    *(f"{_ITEM}{name}__canonical_sha256" for name in _TASK_CLIPS),
)  # fmt: skip
# What the manifest says of the judgments that are here.
TASK_FILTER = "those that stand, by the present protocol: not excluded, no expert's, no withdrawn rater's"


def tasks_of(study: Study, texts: str) -> QuerySet[Task]:
    """Those that are about the versions of items that `texts` names, without those that were withdrawn."""
    versions = ItemVersion.objects.filter(item__study=study, retracted=False, **TEXT_VERSIONS[texts])
    return Task.objects.filter(study=study, kind=Task.Kind.REGULAR, item_version__in=versions).exclude(
        state=Task.State.WITHDRAWN
    )


def task_records(study: Study, *, texts: str = "both") -> Iterator[Record]:
    """In the order in which they were stored; a judgment's `choice` and `slot` are places in `candidates`."""
    last = 0
    tasks = tasks_of(study, texts).order_by("pk")
    while batch := list(tasks.filter(pk__gt=last).values(*_READ)[:BATCH]):
        ids = [row["id"] for row in batch]
        candidates, judgments = _task_candidates(ids), _judgments(study, ids)
        for row in batch:
            yield {
                "task": row["external_id"],
                "item": row["item_version__item__external_id"],
                "strata": row["item_version__item__strata"],
                "version_id": row["item_version_id"],
                "version": row["item_version__number"],
                "texts": {name: row[_ITEM + name] for name in TEXT_FIELDS},
                "clips": {name: row[f"{_ITEM}{name}__canonical_sha256"] for name in _TASK_CLIPS},
                "candidates": candidates[row["id"]],
                "judgments": judgments[row["id"]],
            }
        last = batch[-1]["id"]


def most_candidates(study: Study, *, texts: str = "both") -> int:
    slots = TaskCandidate.objects.filter(task__in=tasks_of(study, texts)).order_by("-slot")
    return int(slots.values_list("slot", flat=True).first() or 0) + 1


def _task_candidates(task_ids: Collection[int]) -> Mapping[int, list[Record]]:
    rows = TaskCandidate.objects.filter(task_id__in=task_ids).order_by("task_id", "slot")
    fields = (
        "candidate_id",
        "candidate__system__name",
        "candidate__text",
        "candidate__clip__canonical_sha256",
    )
    names = ("id", "system", "text", "clip")
    return grouped(
        (task_id, dict(zip(names, candidate, strict=True)))
        for task_id, *candidate in rows.values_list("task_id", *fields)
    )


def _judgments(study: Study, task_ids: Collection[int]) -> Mapping[int, list[Record]]:
    judgments = Judgment.objects.filter(
        counted.IS_COUNTED, task_id__in=task_ids, protocol_version=study.protocol_version
    ).exclude(rater__state=Rater.State.WITHDRAWN)
    fields = ("id", "task_id", "client_id", "rater__pseudonym", "presentation", "codes", "comment", "origin")
    rows = list(judgments.order_by("pk").values(*fields, "started_at", "submitted_at"))
    answers = _answers([row["id"] for row in rows])
    return grouped(
        (
            row["task_id"],
            {
                "client_id": str(row["client_id"]),
                "rater": row["rater__pseudonym"] or "",
                "origin": Judgment.Origin(row["origin"]).name.lower(),
                **{name: row[name] for name in ("presentation", "codes", "comment")},
                **{name: utc_text(row[name]) for name in ("started_at", "submitted_at")},
                "answers": answers[row["id"]],
            },
        )
        for row in rows
    )


def _answers(judgment_ids: Collection[int]) -> Mapping[int, list[Record]]:
    rows = Answer.objects.filter(judgment_id__in=judgment_ids).order_by("question_id", "pk")
    fields = ("judgment_id", "question__key", "candidate_id", "choice", "value", "confidence", "text")
    return grouped(
        (
            judgment_id,
            {
                "question": question,
                "candidate_id": candidate_id,
                "choice": choice,
                "value": plain_number(value),
                "confidence": plain_number(confidence),
                "text": text,
            },
        )
        for judgment_id, question, candidate_id, choice, value, confidence, text in rows.values_list(*fields)
    )
