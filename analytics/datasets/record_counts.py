"""Counts of an export's records, taken as they are written: asked of the database, they take as long as reading it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analytics.datasets.columnar import values_at
from annotation.models import Judgment, ReviewCase

Arrays = Mapping[str, pa.Array]
EXPERT = Judgment.Origin.EXPERT.name.lower()


def _is(column: str, value: str) -> Callable[[Arrays], pa.Array]:
    return lambda read: pc.equal(pc.cast(read[column], pa.string()), value)


def _is_standing(read: Arrays) -> pa.Array:
    return pc.and_not(pc.and_not(read["effective"], read["excluded"]), _is("origin", EXPERT)(read))


# By table: what its records, and the rows in them, are called; and of which records there is another count.
_RECORDS = {"items": "item_versions"}
_ROWS = {"judgments": ("answers", "answers.question"), "items": ("candidates", "candidates.system")}
_SOME: dict[str, dict[str, Callable[[Arrays], pa.Array]]] = {
    "judgments": {
        "standing": _is_standing,
        "excluded": lambda read: read["excluded"],
        "surplus": lambda read: read["surplus"],
        "by_unnamed_raters": _is("rater", ""),
        "by_experts": _is("origin", EXPERT),
    },
    "items": {
        "items": lambda read: read["current"],
        "item_versions_retracted": lambda read: read["retracted"],
    },
    "checks": {"checks_passed": lambda read: read["passed"]},
    "corrections": {"corrections_undone": lambda read: read["undone"]},
    "cases": {"cases_decided": _is("state", ReviewCase.State.RESOLVED.value)},
}


@dataclass
class RecordCounts:
    counts: Counter[str] = field(default_factory=Counter)
    raters: set[str] = field(default_factory=set)

    def add(self, name: str, read: Arrays, starts: np.ndarray[Any, Any]) -> None:
        """Count a block of a table: its rows as they were read; starts: the first row of each record."""
        self.counts[_RECORDS.get(name, name)] += len(starts)
        for count, is_one in _SOME.get(name, {}).items():
            self.counts[count] += values_at(is_one(read), starts).true_count
        if name in _ROWS:
            count, column = _ROWS[name]
            self.counts[count] += len(read[column]) - read[column].null_count
        if name == "judgments":
            self.raters.update(pc.unique(read["rater"]).to_pylist())

    def as_json(self, texts: str) -> dict[str, int]:
        """All of them. Where items are those before any correction, each is there once."""
        items = {"items": self.counts["item_versions"]} if texts == "original" else {}
        return {**self.counts, "raters": len(self.raters - {""}), **items}
