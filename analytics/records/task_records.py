"""The tasks of a study with their items, candidates and the judgments that stand: what tools of tasks are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db.models import Q, QuerySet

from analytics.records.items import TEXTS
from analytics.records.plain import number, utc
from annotation.models import Answer, ItemVersion, Judgment, Rater, Study, Task, TaskCandidate

Record = dict[str, Any]

BATCH = 500
_TEXTS = ("prompt", "lyrics", "question", "reference", "rationale", "transcript")
_CLIPS = ("clip", "reference_clip")
_ITEM = "item_version__"
_READ = (
    "id", "external_id", "item_version_id", "item_version__item__external_id", "item_version__item__strata",
    "item_version__number", *(_ITEM + name for name in _TEXTS),
    *(f"{_ITEM}{name}__canonical_sha256" for name in _CLIPS),
)  # fmt: skip
# What the manifest says of the judgments that are here.
FILTER = "those that stand, by the present protocol: not excluded, no expert's, no withdrawn rater's"


def tasks_of(study: Study, texts: str) -> QuerySet[Task]:
    """Those that are about the versions of items that `texts` names, without those that were withdrawn."""
    versions = ItemVersion.objects.filter(item__study=study, retracted=False, **TEXTS[texts])
    return Task.objects.filter(study=study, kind=Task.Kind.REGULAR, item_version__in=versions).exclude(
        state=Task.State.WITHDRAWN
    )


def task_records(study: Study, *, texts: str = "both") -> Iterator[Record]:
    """In the order in which they were stored; a judgment's `choice` and `slot` are places in `candidates`."""
    last = 0
    tasks = tasks_of(study, texts).order_by("pk")
    while batch := list(tasks.filter(pk__gt=last).values(*_READ)[:BATCH]):
        ids = [row["id"] for row in batch]
        candidates, judgments = _candidates(ids), _judgments(study, ids)
        for row in batch:
            yield {
                "task": row["external_id"],
                "item": row["item_version__item__external_id"],
                "strata": row["item_version__item__strata"],
                "version_id": row["item_version_id"],
                "version": row["item_version__number"],
                "texts": {name: row[_ITEM + name] for name in _TEXTS},
                "clips": {name: row[f"{_ITEM}{name}__canonical_sha256"] for name in _CLIPS},
                "candidates": candidates[row["id"]],
                "judgments": judgments[row["id"]],
            }
        last = batch[-1]["id"]


def most_candidates(study: Study, *, texts: str = "both") -> int:
    slots = TaskCandidate.objects.filter(task__in=tasks_of(study, texts)).order_by("-slot")
    return int(slots.values_list("slot", flat=True).first() or 0) + 1


def _candidates(task_ids: Collection[int]) -> Mapping[int, list[Record]]:
    found: defaultdict[int, list[Record]] = defaultdict(list)
    rows = TaskCandidate.objects.filter(task_id__in=task_ids).order_by("task_id", "slot")
    fields = (
        "candidate_id",
        "candidate__system__name",
        "candidate__text",
        "candidate__clip__canonical_sha256",
    )
    for task_id, *candidate in rows.values_list("task_id", *fields):
        found[task_id].append(dict(zip(("id", "system", "text", "clip"), candidate, strict=True)))
    return found


def _judgments(study: Study, task_ids: Collection[int]) -> Mapping[int, list[Record]]:
    stands = Judgment.objects.filter(
        task_id__in=task_ids, effective=True, excluded=False, protocol_version=study.protocol_version
    ).exclude(Q(origin=Judgment.Origin.EXPERT) | Q(rater__state=Rater.State.WITHDRAWN))
    fields = ("id", "task_id", "client_id", "rater__pseudonym", "presentation", "codes", "comment", "origin")
    rows = list(stands.order_by("pk").values(*fields, "started_at", "submitted_at"))
    answers = _answers([row["id"] for row in rows])
    found: defaultdict[int, list[Record]] = defaultdict(list)
    for row in rows:
        found[row["task_id"]].append(
            {
                "client_id": str(row["client_id"]),
                "rater": row["rater__pseudonym"] or "",
                "origin": Judgment.Origin(row["origin"]).name.lower(),
                **{name: row[name] for name in ("presentation", "codes", "comment")},
                **{name: utc(row[name]) for name in ("started_at", "submitted_at")},
                "answers": answers[row["id"]],
            }
        )
    return found


def _answers(judgment_ids: Collection[int]) -> Mapping[int, list[Record]]:
    found: defaultdict[int, list[Record]] = defaultdict(list)
    rows = Answer.objects.filter(judgment_id__in=judgment_ids).order_by("question_id", "pk")
    fields = ("judgment_id", "question__key", "candidate_id", "choice", "value", "confidence", "text")
    for judgment_id, question, candidate_id, choice, value, confidence, text in rows.values_list(*fields):
        found[judgment_id].append(
            {
                "question": question,
                "candidate_id": candidate_id,
                "choice": choice,
                "value": number(value),
                "confidence": number(confidence),
                "text": text,
            }
        )
    return found
