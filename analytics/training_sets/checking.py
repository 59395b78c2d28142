"""What lies in two splits of the files that were written. Knows nothing of how they were split: it reads the rows.

The item, and the kinds that were asked to be kept apart, may not; of the others it is only told how many do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics.training_sets.contract import Row
from analytics.training_sets.options import TrainingSetError
from analytics.training_sets.texts import folded

_NAMED = 5
_WORDS = ("prompt", "question")


@dataclass
class Seen:
    """By kind and name: the splits it is in, and an example of it."""

    parts: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    examples: dict[str, dict[str, str]] = field(default_factory=dict)
    systems: dict[str, set[str]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def look(self, part: str, rows: Iterable[Row], holds: Mapping[str, tuple[str, ...]]) -> None:
        for row in rows:
            for kind, columns in holds.items():
                for column in columns:
                    if value := row.get(column):
                        self._note(part, kind, str(value))

    def _note(self, part: str, kind: str, value: str) -> None:
        if kind == "system":
            self.systems.setdefault(part, set()).add(value)
            return
        name = self._name(value) if kind in _WORDS else value
        if name:
            self.parts.setdefault(kind, {}).setdefault(name, set()).add(part)
            self.examples.setdefault(kind, {}).setdefault(name, value[:80])

    def _name(self, text: str) -> str:
        if text not in self._names:
            self._names[text] = hashlib.sha256(folded(text).encode()).hexdigest()[:16] if folded(text) else ""
        return self._names[text]


def judged(seen: Seen, *, groups: Iterable[str], held_out: Iterable[str]) -> dict[str, Any]:
    """The report. Raises TrainingSetError("leak") naming what lies in two splits and in which."""
    refused = {"item", *groups}
    report: dict[str, Any] = {}
    told = []
    for kind, names in sorted(seen.parts.items()):
        shared = {name: sorted(parts) for name, parts in sorted(names.items()) if len(parts) > 1}
        report[kind] = {"checked": len(names), "in_two_splits": len(shared), "refused": kind in refused}
        if shared and kind in refused:
            told.append(_told(kind, shared, seen.examples[kind]))
    learned = seen.systems.get("train", set()) | seen.systems.get("dev", set())
    out = sorted(set(held_out))
    if out:
        report["system"] = {"held_out": out, "in_train_or_dev": sorted(learned & set(out))}
        if learned & set(out):
            told.append(
                f"systems held out and learned from all the same: {', '.join(sorted(learned & set(out)))}"
            )
    if told:
        raise TrainingSetError(
            "leak",
            f"The files that were written leak, and none is kept: {'; '.join(told)}. This is a fault of Concord: "
            "please report it with the manifest's options.",
        )
    return report


def _told(kind: str, shared: Mapping[str, list[str]], examples: Mapping[str, str]) -> str:
    first = [
        f"{examples[name]!r}{f' ({name})' if kind in _WORDS else ''} in {' and '.join(parts)}"
        for name, parts in list(shared.items())[:_NAMED]
    ]
    more = f" and {len(shared) - len(first):,} more" if len(shared) > len(first) else ""
    return f"{len(shared):,} {kind}{'' if len(shared) == 1 else 's'} in two splits: {', '.join(first)}{more}"
