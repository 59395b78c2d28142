"""Whether the rows of a file of texts fit the study they are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from annotation.importers.records import RowProblem
from annotation.models import Candidate, Item, Study, System, Task
from annotation.rules.review import CORRECTABLE
from annotation.services.import_batches import in_batches


@dataclass(frozen=True)
class Allowing:
    """What a file may do beyond filling what is empty. `anew`: replace texts that are there; `judged`: change items
    that people have judged; `new_systems`: name systems that the study does not have yet."""

    anew: bool = False
    judged: bool = False
    new_systems: bool = False


class Entry(NamedTuple):
    """One row: an answer of a system, or the text of a field."""

    row: str
    item: str
    system: str
    field: str
    text: str


@dataclass(frozen=True)
class ItemNow:
    version_id: int
    is_active: bool
    is_judged: bool
    texts: dict[str, str]


@dataclass(frozen=True)
class Standing:
    """What the study says now of what a file names: items by their ids, systems by name, and answers by version and
    system."""

    items: dict[str, ItemNow]
    systems: dict[str, int]
    answers: dict[tuple[int, int], set[str]]

    def has(self, entry: Entry) -> bool:
        """Whether this very text is there already."""
        item = self.items[entry.item]
        if entry.field:
            return item.texts[entry.field] == entry.text
        return entry.text in self.answers_of(entry)

    def answers_of(self, entry: Entry) -> set[str]:
        return self.answers.get((self.items[entry.item].version_id, self.systems.get(entry.system, 0)), set())


def standing(study: Study, entries: Sequence[Entry]) -> Standing:
    named = sorted({entry.item for entry in entries})
    rows = study.items.select_related("current_version").filter(current_version__isnull=False)
    found = list(in_batches(rows, "external_id", named))
    versions = [item.current_version_id for item in found if item.current_version_id]
    voted = Task.objects.filter(n_judgments__gt=0)
    judged = {task.item_version_id for task in in_batches(voted, "item_version_id", versions)}
    answers: dict[tuple[int, int], set[str]] = {}
    if any(entry.system for entry in entries):
        for candidate in in_batches(Candidate.objects.all(), "item_version_id", versions):
            answers.setdefault((candidate.item_version_id, candidate.system_id), set()).add(candidate.text)
    return Standing(
        {item.external_id: _now(item, judged) for item in found},
        dict(System.objects.filter(study=study).values_list("name", "pk")),
        answers,
    )


def problems_with(entries: Sequence[Entry], there: Standing, allowing: Allowing) -> Iterator[RowProblem]:
    first: dict[tuple[str, str, str], str] = {}
    for entry in entries:
        if bool(entry.system) != bool(entries[0].system):
            yield RowProblem(
                entry.row,
                "system, field",
                "answers and texts of items stand in one file",
                "Make two files of it.",
            )
            return
        key = (entry.item, entry.system, entry.field)
        if (row := first.setdefault(key, entry.row)) != entry.row:
            yield RowProblem(entry.row, "item", f"says the same again as row {row}", "Leave one of them out.")
        elif (problem := _problem(entry, there, allowing)) is not None:
            yield problem


def _problem(entry: Entry, there: Standing, allowing: Allowing) -> RowProblem | None:
    item = there.items.get(entry.item)
    if item is None:
        return RowProblem(entry.row, "item", f"{entry.item!r} is no item of this study", "Import it first.")
    if not item.is_active:
        return RowProblem(entry.row, "item", f"{entry.item} was withdrawn", "Leave the row out.")
    if entry.system and entry.system not in there.systems and not allowing.new_systems:
        remedy = "Mend the name, or say that the file may name new systems."
        return RowProblem(entry.row, "system", f"{entry.system!r} is no system of this study", remedy)
    if there.has(entry):
        return None
    if entry.system and there.answers_of(entry):
        remedy = "Answers are never replaced: name another system."
        return RowProblem(entry.row, "text", f"{entry.system} has another answer to {entry.item}", remedy)
    return _field_problem(entry, item, allowing) if entry.field else None


def _field_problem(entry: Entry, item: ItemNow, allowing: Allowing) -> RowProblem | None:
    if item.texts[entry.field] and not allowing.anew:
        remedy = "Leave the row out, or say that texts may be replaced."
        return RowProblem(entry.row, "text", f"{entry.item} has another {entry.field} already", remedy)
    if item.is_judged and not allowing.judged:
        remedy = "Leave the row out, or say that judged items may change: they are judged anew then."
        return RowProblem(entry.row, "item", f"{entry.item} has been judged", remedy)
    return None


def _now(item: Item, judged: set[int]) -> ItemNow:
    version = item.current_version
    assert version is not None
    return ItemNow(
        version.pk,
        item.state == Item.State.ACTIVE,
        version.pk in judged,
        {name: getattr(version, name) for name in CORRECTABLE},
    )
