"""Texts and answers that were written elsewhere: a file of them, checked as a whole before anything is kept.

CSV, TSV or JSONL in UTF-8 with `item`, `text`, and either `system` (an answer of it) or `field` (the item's own text).
What is there already is passed over, so that the same file may be handed in twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from annotation import audit
from annotation.errors import FieldProblem, InvalidInput
from annotation.importers import delimited, files
from annotation.importers.records import NAME_LENGTH, NOT_IN_NAMES, RowProblem
from annotation.models import Study, System, User
from annotation.rules.corrections import clean
from annotation.rules.review import CORRECTABLE
from annotation.services.import_batches import batches
from scoring.models import WritingRow, WritingRun
from scoring.services.results import storable
from scoring.services.writing_file_checks import Allowing, Entry, Standing, problems_with, standing

COLUMNS = ("item", "system", "field", "text")
FORMATS = (".csv", ".tsv", ".jsonl")
MOST_ROWS = 200_000
_SHOWN = 20
_LOCK = 7_303_025


@dataclass(frozen=True)
class TakenIn:
    """What became of a file: the run that publishes what was new in it, None where nothing was."""

    n_rows: int
    n_there: int
    run: WritingRun | None


@transaction.atomic
def take_in(
    study: Study,
    source: Path,
    *,
    name: str = "",
    allowing: Allowing = Allowing(),  # noqa: B008  # frozen
    publishes: bool = True,
    actor: User | None,
    wake: bool = True,
) -> TakenIn:
    """Check a file and record what is new in it as a run without a writer, all or nothing. A worker publishes it at
    once, or with `publishes=False` when somebody has looked. Raises InvalidInput that names row, field and remedy."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, study.pk])
    name = name or source.name
    entries = _entries(source, name)
    there = standing(study, entries)
    found = list(islice(problems_with(entries, there, allowing), _SHOWN + 1))
    if found:
        raise InvalidInput(_refusal(name, found), problems=[_in_words(each) for each in found[:_SHOWN]])
    new = [entry for entry in entries if not there.has(entry)]
    if not new:
        return TakenIn(len(entries), len(entries), None)
    run = _record(study, new, there, name, allowing, publishes=publishes, actor=actor)
    if wake and publishes:
        transaction.on_commit(_wake, robust=True)
    return TakenIn(len(entries), len(entries) - len(new), run)


def _record(
    study: Study,
    new: Sequence[Entry],
    there: Standing,
    name: str,
    allowing: Allowing,
    *,
    publishes: bool,
    actor: User | None,
) -> WritingRun:
    answers = bool(new[0].system)
    run = WritingRun.objects.create(
        study=study, source=storable(name)[:300], publishes=publishes, created_by=actor,
        n_rows=len(new), n_done=len(new),
        purpose=WritingRun.Purpose.ANSWERS if answers else WritingRun.Purpose.ITEMS,
        filter={"judged": True} if allowing.judged else {},
        # A file's texts are written; what is left to do is to publish them.
        state=WritingRun.State.QUEUED if publishes else WritingRun.State.DONE,
        finished_at=None if publishes else timezone.now(),
    )  # fmt: skip
    named = {entry.system for entry in new if entry.system}
    for missing in sorted(named - set(there.systems)):
        there.systems[missing] = System.objects.create(study=study, name=missing).pk
    now = timezone.now()
    for some in batches(new):
        WritingRow.objects.bulk_create(
            WritingRow(
                run=run, item_version_id=there.items[entry.item].version_id, field=entry.field,
                system_id=there.systems[entry.system] if entry.system else None,
                text=entry.text, state=WritingRow.State.DONE, written_at=now,
            )
            for entry in some
        )  # fmt: skip
    audit.record(
        "writing.taken_in", actor=actor, study=study, subject=f"writing run {run.pk}", source=run.source,
        rows=len(new), publishes=publishes,
    )  # fmt: skip
    return run


def _entries(source: Path, name: str) -> list[Entry]:
    """The file's rows. Raises InvalidInput with what cannot be read."""
    if source.suffix.lower() not in FORMATS:
        problem = FieldProblem("file", f"{name} is none of {', '.join(FORMATS)}.", "Save it as one of these.")
        raise InvalidInput(problem.message, problems=[problem])
    entries: list[Entry] = []
    problems: list[RowProblem] = []
    for found in _rows(source):
        if isinstance(found, Entry):
            entries.append(found)
        else:
            problems.append(found)
        if len(problems) > _SHOWN or len(entries) > MOST_ROWS:
            break
    if not problems and len(entries) > MOST_ROWS:
        problems = [
            RowProblem(
                str(MOST_ROWS), "", f"is not the last, and {MOST_ROWS:,} are the most", "Cut the file."
            )
        ]
    if not problems and not entries:
        problems = [RowProblem("1", "", "there are no rows", "Write one for each text.")]
    if problems:
        raise InvalidInput(_refusal(name, problems), problems=[_in_words(each) for each in problems[:_SHOWN]])
    return entries


def _rows(source: Path) -> Iterator[Entry | RowProblem]:
    suffix = source.suffix.lower()
    rows = files.json_lines(source) if suffix == ".jsonl" else delimited.csv_rows(
        source, delimiter="\t" if suffix == ".tsv" else ","
    )  # fmt: skip
    for found in rows:
        yield found if isinstance(found, RowProblem) else _entry(*found)


def _entry(row: str, cells: dict[str, Any]) -> Entry | RowProblem:
    for name, value in cells.items():
        if name not in COLUMNS:
            return RowProblem(
                row, storable(name), "is no column of such a file", f"Use {', '.join(COLUMNS)}."
            )
        if value is not None and not isinstance(value, str):
            return RowProblem(row, name, "is not a text", "Write it in quotes.")
        if value is not None and storable(value) != value:
            return RowProblem(row, name, "holds a character that no text can hold", "Take it out.")
    item, system, field = ((cells.get(name) or "").strip() for name in COLUMNS[:3])
    text = clean(cells.get("text") or "")
    if not item:
        return RowProblem(row, "item", "is missing", "Name the item as it was imported.")
    if bool(system) == bool(field):
        how = "both are given" if system else "neither is given"
        return RowProblem(row, "system, field", how, "Name the system that answers, or the item's field.")
    if field and field not in CORRECTABLE:
        return RowProblem(row, "field", f"{field!r} is no field of an item", f"Use {', '.join(CORRECTABLE)}.")
    if len(system) > NAME_LENGTH:
        return RowProblem(row, "system", f"is longer than {NAME_LENGTH} characters", "Use a shorter name.")
    if NOT_IN_NAMES in system:
        return RowProblem(row, "system", "holds the control character U+001F", "Remove it.")
    if not text:
        return RowProblem(row, "text", "is empty", "Write the text, or leave the row out.")
    return Entry(row, item, system, field, text)


def _refusal(name: str, problems: Sequence[RowProblem]) -> str:
    more = " Only the first are shown." if len(problems) > _SHOWN else ""
    return f"{name} cannot be taken in as it is; nothing was kept.{more}"


def _in_words(problem: RowProblem) -> FieldProblem:
    where = f"row {problem.row}, {problem.field}" if problem.field else f"row {problem.row}"
    return FieldProblem(where, f"{problem.problem}.", problem.remedy)


def _wake() -> None:
    from scoring.tasks import write_texts  # tasks import this module's neighbours

    write_texts.delay()
