"""What an export says of itself: counts, protocols, hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics.code_version import code_version
from annotation.models import Study
from annotation.rating.rules.ordering import PRIORITIES_SOURCE_KEY

Record = dict[str, Any]

EXPORT_SCHEMA = 1
# Nothing but versions of items is left out: whoever reads the export decides by the marks.
EXPORT_FILTERS = {
    "judgments": "all, with their marks",
    "checks": "all that were finished",
    "corrections": "all, undone ones marked",
    "cases": "all",
}
# Rules of a study that mean something on this installation only.
_INSTALLATION_RULES = {"prescore", PRIORITIES_SOURCE_KEY}
ITEM_FILTERS = {
    "original": "last versions before any correction",
    "corrected": "current versions",
    "both": "all versions",
}


@dataclass
class RecordCounts:
    """Counts of what passes by on its way to a file."""

    texts: str
    counts: Counter[str] = field(default_factory=Counter)
    raters: set[str] = field(default_factory=set)

    def judgments(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.raters.add(record["rater"])
            self.counts.update(
                judgments=1,
                answers=len(record["answers"]),
                standing=int(record["effective"] and not record["excluded"] and record["origin"] != "expert"),
                excluded=int(record["excluded"]),
                surplus=int(record["surplus"]),
                by_unnamed_raters=int(not record["rater"]),
                by_experts=int(record["origin"] == "expert"),
            )
            yield record

    def tasks(self, records: Iterable[Record]) -> Iterator[Record]:
        """Of formats that are of tasks: every judgment in them stands."""
        versions: set[int] = set()
        items: set[str] = set()
        candidates: set[int] = set()
        for record in records:
            judgments = record["judgments"]
            self.raters.update(judgment["rater"] for judgment in judgments)
            if record["version_id"] not in versions:
                self.counts.update(item_versions=1, items=int(record["item"] not in items))
            versions.add(record["version_id"])
            items.add(record["item"])
            candidates.update(candidate["id"] for candidate in record["candidates"])
            self.counts.update(
                judgments=len(judgments),
                standing=len(judgments),
                answers=sum(len(judgment["answers"]) for judgment in judgments),
                by_unnamed_raters=sum(not judgment["rater"] for judgment in judgments),
            )
            self.counts["candidates"] = len(candidates)
            yield record

    def items(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.counts.update(
                items=int(record["current"] or self.texts == "original"),
                item_versions=1,
                item_versions_retracted=int(record["retracted"]),
                candidates=len(record["candidates"]),
            )
            yield record

    def checks(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.counts.update(checks=1, checks_passed=int(record["passed"]))
            yield record

    def corrections(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.counts.update(corrections=1, corrections_undone=int(record["undone"]))
            yield record

    def cases(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.counts.update(cases=1, cases_decided=int(record["state"] == "resolved"))
            yield record

    def as_json(self) -> dict[str, int]:
        names = (
            "judgments", "answers", "standing", "excluded", "surplus", "by_unnamed_raters",
            "by_experts", "items", "item_versions", "item_versions_retracted", "candidates", "checks", "checks_passed",
            "corrections", "corrections_undone", "cases", "cases_decided",
        )  # fmt: skip
        return {**{name: self.counts[name] for name in names}, "raters": len(self.raters - {""})}


def export_manifest(
    study: Study, *, format: str, texts: str, tally: RecordCounts, files: Mapping[str, Any]
) -> dict[str, Any]:
    """A function of the data and the code alone: no time, no place, no person. What scores new items by itself names
    folders and servers of this installation, and what priorities were made from its rows, so they are left out."""
    rules = {name: rule for name, rule in study.rules.items() if name not in _INSTALLATION_RULES}
    return {
        "schema": EXPORT_SCHEMA,
        "format": format,
        "texts": texts,
        "code_version": code_version(),
        "study": {
            **{
                name: getattr(study, name)
                for name in ("slug", "title", "description", "state", "overlap", "order", "seed")
            },
            "rules": rules,
        },
        "protocols": [
            {
                "number": version.number,
                "preset": version.preset,
                "sha256": version.definition_sha256,
                "definition": version.definition,
            }
            for version in study.protocol_versions.order_by("number")
        ],
        "ordering_policies": list(
            study.ordering_policies.order_by("number").values("number", "settings", "made_from")
        ),
        "filters": {**EXPORT_FILTERS, "items": ITEM_FILTERS[texts]},
        "counts": tally.as_json(),
        "files": files,
    }
