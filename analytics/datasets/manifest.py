"""Export manifest: counts, protocols, filters and file hashes; release manifests share its facts of the study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from analytics.code_version import code_version
from analytics.datasets.item_records import TEXT_VERSIONS
from analytics.datasets.values import Record
from annotation.models import (
    Answer,
    Candidate,
    Correction,
    ItemVersion,
    Judgment,
    ListeningCheck,
    OrderingPolicy,
    ProtocolVersion,
    RaterWithdrawal,
    ReviewCase,
    Study,
)
from annotation.rating import counted
from annotation.rating.rules.ordering import PRIORITIES_SOURCE_KEY

EXPORT_SCHEMA = 1
# Nothing but versions of items is left out: the reader of the export decides by the marks.
EXPORT_FILTERS = {
    "judgments": "all, with their marks",
    "checks": "all that were finished",
    "corrections": "all, undone ones marked",
    "cases": "all",
}
ITEM_FILTERS = {
    "original": "last versions before any correction",
    "corrected": "current versions",
    "both": "all versions",
}
_STUDY_FIELDS = ("slug", "title", "description", "state", "overlap", "order", "seed")
# Rules of a study that mean something on this installation only: folders and servers of the scorer of new items, and
# the database rows that priorities were made from.
_INSTALLATION_RULES = {"prescore", PRIORITIES_SOURCE_KEY}
_COUNTS = (
    "judgments", "answers", "standing", "excluded", "surplus", "by_unnamed_raters", "by_experts", "items",
    "item_versions", "item_versions_retracted", "candidates", "checks", "checks_passed", "corrections",
    "corrections_undone", "cases", "cases_decided", "raters",
)  # fmt: skip


def study_facts(study: Study) -> dict[str, Any]:
    rules = {name: rule for name, rule in study.rules.items() if name not in _INSTALLATION_RULES}
    return {**{name: getattr(study, name) for name in _STUDY_FIELDS}, "rules": rules}


def protocol_facts(versions: QuerySet[ProtocolVersion]) -> list[dict[str, Any]]:
    rows = versions.order_by("number").values_list("number", "preset", "definition_sha256", "definition")
    return [dict(zip(("number", "preset", "sha256", "definition"), row, strict=True)) for row in rows]


def policy_facts(policies: QuerySet[OrderingPolicy]) -> list[dict[str, Any]]:
    return [dict(row) for row in policies.order_by("number").values("number", "settings", "made_from")]


def export_counts(study: Study, texts: str, *, as_tables: bool) -> dict[str, int]:
    """What an export of records or tables holds. Tables mark the judgments of anonymised raters as excluded."""
    judgments = Judgment.objects.filter(study=study).exclude(
        rater__withdrawal__mode=RaterWithdrawal.Mode.REMOVED
    )
    answers = Answer.objects.filter(judgment__study=study).exclude(
        judgment__rater__withdrawal__mode=RaterWithdrawal.Mode.REMOVED
    )
    anonymised = Q(rater__withdrawal__isnull=False)
    excluded = Q(excluded=True) | anonymised if as_tables else Q(excluded=True)
    versions = ItemVersion.objects.filter(item__study=study, **TEXT_VERSIONS[texts])
    current = Q() if texts == "original" else Q(item__current_version=F("pk"))
    checks = ListeningCheck.objects.filter(
        rater__study=study, finished_at__isnull=False, rater__withdrawal=None
    )
    corrections = Correction.objects.filter(version_after__item__study=study)
    cases = ReviewCase.objects.filter(study=study)
    found = {
        **judgments.aggregate(
            judgments=Count("pk"),
            standing=Count("pk", filter=counted.IS_COUNTED & ~excluded),
            excluded=Count("pk", filter=excluded),
            surplus=Count("pk", filter=Q(surplus=True)),
            by_unnamed_raters=Count("pk", filter=Q(rater=None) | anonymised),
            by_experts=Count("pk", filter=Q(origin=Judgment.Origin.EXPERT)),
            raters=Count("rater", distinct=True, filter=~anonymised),
        ),
        "answers": answers.count(),
        "items": versions.filter(current).count(),
        "item_versions": versions.count(),
        "item_versions_retracted": versions.filter(retracted=True).count(),
        "candidates": Candidate.objects.filter(item_version__in=versions).count(),
        "checks": checks.count(),
        "checks_passed": checks.filter(state=ListeningCheck.State.PASSED).count(),
        "corrections": corrections.count(),
        "corrections_undone": corrections.filter(version_after__retracted=True).count(),
        "cases": cases.count(),
        "cases_decided": cases.filter(state=ReviewCase.State.RESOLVED).count(),
    }
    return {name: found[name] for name in _COUNTS}


@dataclass
class TaskCounts:
    """Counts of the records of tasks on their way to a file; every judgment in them stands."""

    counts: Counter[str] = field(default_factory=Counter)
    raters: set[str] = field(default_factory=set)

    def count(self, records: Iterable[Record]) -> Iterator[Record]:
        versions: set[int] = set()
        items: set[str] = set()
        candidates: set[int] = set()
        for record in records:
            judgments = record["judgments"]
            self.raters.update(judgment["rater"] for judgment in judgments)
            versions.add(record["version_id"])
            items.add(record["item"])
            candidates.update(candidate["id"] for candidate in record["candidates"])
            self.counts.update(
                judgments=len(judgments),
                standing=len(judgments),
                answers=sum(len(judgment["answers"]) for judgment in judgments),
                by_unnamed_raters=sum(not judgment["rater"] for judgment in judgments),
            )
            yield record
        self.counts.update(item_versions=len(versions), items=len(items), candidates=len(candidates))

    def as_json(self) -> dict[str, int]:
        return {**{name: self.counts[name] for name in _COUNTS}, "raters": len(self.raters - {""})}


def export_manifest(
    study: Study,
    *,
    format: str,
    texts: str,
    filters: Mapping[str, str],
    counts: Mapping[str, int],
    files: Mapping[str, Any],
) -> dict[str, Any]:
    """A function of the data and the code alone: no time, no place, no person."""
    return {
        "schema": EXPORT_SCHEMA,
        "format": format,
        "texts": texts,
        "code_version": code_version(),
        "study": study_facts(study),
        "protocols": protocol_facts(study.protocol_versions.all()),
        "ordering_policies": policy_facts(study.ordering_policies.all()),
        "filters": {**filters, "items": ITEM_FILTERS[texts]},
        "counts": dict(counts),
        "files": dict(files),
    }
