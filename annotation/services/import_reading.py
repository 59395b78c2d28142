"""The first stage of an import: its source, read once from end to end and kept in batches, each with the place that
reading would go on from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol as Signature

from django.db import transaction

from annotation.importers import FORMATS
from annotation.importers.places import Place
from annotation.importers.records import Note, RowProblem, TaskRecord, faults
from annotation.importers.staged_json import StagedJson, encoded
from annotation.models import StagedImport
from annotation.protocols import Protocol
from annotation.services import import_staging, import_trials
from annotation.services.import_orders import Order

BATCH = 2000
# A report is read by a person.
MAX_NOTES = 100


class Progress(Signature):
    def __call__(self, done: int, total: int | None = None, *, stage: str = "") -> None: ...


@dataclass
class _Batch:
    """What was read since the last batch was kept."""

    tasks: list[StagedJson] = field(default_factory=list)
    problems: list[RowProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    n: int = 0
    size: int = 0

    @property
    def full(self) -> bool:
        return self.n >= BATCH or self.size >= import_staging.HELD

    def add(self, entry: TaskRecord | RowProblem | Note, protocol: Protocol) -> None:
        self.n += 1
        if isinstance(entry, Note):
            self.notes.append(entry.text)
        elif isinstance(entry, RowProblem):
            self.problems.append(entry)
        elif found := [*faults(entry), *import_trials.faults(entry, protocol)]:
            self.problems += found
        else:
            task = encoded(entry)
            self.tasks.append(task)
            self.size += task.size


def read(staged: StagedImport, order: Order, protocol: Protocol, progress: Progress) -> None:
    """Stage what of the source is not staged yet."""
    place = _place(staged)
    batch = _Batch()
    moved_from = place.offset
    for entry in _entries(staged, order, protocol, place):
        # Rows of one offset belong together: a successor would read the last one again as a whole.
        if batch.full and (not place.offset or place.offset != moved_from):
            _keep(staged, batch, place)
            batch = _Batch()
        moved_from = place.offset
        batch.add(entry, protocol)
        progress(staged.n_entries + batch.n, stage="reading")
    if not staged.n_entries + batch.n:
        problem = f"{Path(order.source).name} holds nothing to import"
        batch.problems.append(RowProblem("", "", problem, "Is it the right file, in the right format?"))
    staged.read = True
    _keep(staged, batch, place)


def columns(staged: StagedImport) -> dict[str, str]:
    """The source's columns, with the kinds of their values; none where its format has none of its own."""
    kept: dict[str, str] = json.loads(staged.place).get("columns", {})
    return {import_staging.printable(name): kind for name, kind in kept.items()}


def _place(staged: StagedImport) -> Place:
    kept = json.loads(staged.place)
    if not kept.get("offset"):
        return Place()
    return Place(**{**kept, "header": tuple(kept["header"]), "told": tuple(kept["told"])})


def _entries(
    staged: StagedImport, order: Order, protocol: Protocol, place: Place
) -> Iterator[TaskRecord | RowProblem | Note]:
    """What the reader yields behind what is staged: from the place on, where it knows of one."""
    chosen = FORMATS[order.format]
    source = Path(order.source)
    if chosen.read_from is None:
        return islice(chosen.read(source, protocol, order.column_map), staged.n_entries, None)
    entries = chosen.read_from(source, protocol, order.column_map, place)
    return entries if place.offset else islice(entries, staged.n_entries, None)


def _keep(staged: StagedImport, batch: _Batch, place: Place) -> None:
    with transaction.atomic():
        import_staging.add(staged, batch.tasks, first=staged.n_entries)
        import_staging.tell(staged, batch.problems)
        staged.notes = [*staged.notes, *batch.notes][:MAX_NOTES]
        staged.n_entries += batch.n
        staged.place = json.dumps(place.kept())
        staged.save()
