"""What an export says of itself: counts, protocols, hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics.services.code_version import code_version
from annotation.models import Study

Record = dict[str, Any]

SCHEMA = 1
# Nothing is left out: whoever reads the export decides by the marks.
FILTERS = {"judgments": "all, with their marks", "items": "all versions", "checks": "all that were finished"}


@dataclass
class Tally:
    """Counts of what passes by on its way to a file."""

    counts: Counter[str] = field(default_factory=Counter)
    raters: set[str] = field(default_factory=set)

    def judgments(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.raters.add(record["rater"])
            self.counts.update(
                judgments=1,
                answers=len(record["answers"]),
                standing=int(record["effective"] and not record["excluded"]),
                excluded=int(record["excluded"]),
                surplus=int(record["surplus"]),
                by_unnamed_raters=int(not record["rater"]),
            )
            yield record

    def items(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.counts.update(
                items=int(record["current"]), item_versions=1, candidates=len(record["candidates"])
            )
            yield record

    def checks(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.counts.update(checks=1, checks_passed=int(record["passed"]))
            yield record

    def as_json(self) -> dict[str, int]:
        names = (
            "judgments", "answers", "standing", "excluded", "surplus", "by_unnamed_raters",
            "items", "item_versions", "candidates", "checks", "checks_passed",
        )  # fmt: skip
        return {**{name: self.counts[name] for name in names}, "raters": len(self.raters - {""})}


def manifest(study: Study, *, format: str, tally: Tally, files: Mapping[str, Any]) -> dict[str, Any]:
    """A function of the data and the code alone: no time, no place, no person. What scores new items by itself names
    folders and servers of this installation, so it is left out."""
    rules = {name: rule for name, rule in study.rules.items() if name != "prescore"}
    return {
        "schema": SCHEMA,
        "format": format,
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
        "filters": FILTERS,
        "counts": tally.as_json(),
        "files": files,
    }
