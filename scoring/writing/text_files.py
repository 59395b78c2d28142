"""Import of texts and answers written elsewhere: a file, checked as a whole before anything is saved.

CSV, TSV or JSONL in UTF-8 with `item`, `text`, and either `system` (an answer of it) or `field` (the item's own text).
What is there already is passed over, so that the same file may be handed in twice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from django.core.files.uploadedfile import UploadedFile
from django.db import connection, transaction
from django.utils import timezone

from annotation.bulk_queries import batches, rows_in_batches
from annotation.errors import FieldProblem, InvalidInput
from annotation.importing.formats import csv_files, json_files
from annotation.importing.records import LIST_SEPARATOR, MAX_NAME_LENGTH, RowProblem
from annotation.models import Candidate, Item, Study, System, Task, User
from annotation.review.rules import CORRECTABLE_FIELDS, normalize_text
from annotation.studies import audit
from scoring.models import WritingRow, WritingRun
from scoring.runs.engine import sanitize_text
from scoring.writing.claims import WRITING

# ── checks of rows against the study ──


@dataclass(frozen=True)
class ImportPermissions:
    """Permissions of a file beyond filling empty fields. `anew`: replace texts that are there; `judged`: change items
    that people have judged; `new_systems`: name systems that the study does not have yet."""

    anew: bool = False
    judged: bool = False
    new_systems: bool = False


class TextRow(NamedTuple):
    """One row: an answer of a system, or the text of a field."""

    row: str
    item: str
    system: str
    field: str
    text: str


@dataclass(frozen=True)
class CurrentItem:
    version_id: int
    is_active: bool
    is_judged: bool
    texts: dict[str, str]


@dataclass(frozen=True)
class CurrentTexts:
    """The current texts of the study that a file names: items by their ids, systems by name, and answers by version and
    system."""

    items: dict[str, CurrentItem]
    systems: dict[str, int]
    answers: dict[tuple[int, int], set[str]]

    def has(self, entry: TextRow) -> bool:
        """Whether this very text is there already."""
        item = self.items[entry.item]
        if entry.field:
            return item.texts[entry.field] == entry.text
        return entry.text in self.answers_of(entry)

    def answers_of(self, entry: TextRow) -> set[str]:
        return self.answers.get((self.items[entry.item].version_id, self.systems.get(entry.system, 0)), set())


def load_current_texts(study: Study, entries: Sequence[TextRow]) -> CurrentTexts:
    named = sorted({entry.item for entry in entries})
    rows = study.items.select_related("current_version").filter(current_version__isnull=False)
    items = list(rows_in_batches(rows, "external_id", named))
    versions = [item.current_version_id for item in items if item.current_version_id]
    voted = Task.objects.filter(n_judgments__gt=0)
    judged = {task.item_version_id for task in rows_in_batches(voted, "item_version_id", versions)}
    answers: dict[tuple[int, int], set[str]] = {}
    if any(entry.system for entry in entries):
        for candidate in rows_in_batches(Candidate.objects.all(), "item_version_id", versions):
            answers.setdefault((candidate.item_version_id, candidate.system_id), set()).add(candidate.text)
    return CurrentTexts(
        {item.external_id: _current_item(item, judged) for item in items},
        dict(System.objects.filter(study=study).values_list("name", "pk")),
        answers,
    )


def row_problems(
    entries: Sequence[TextRow], current: CurrentTexts, allowing: ImportPermissions
) -> Iterator[RowProblem]:
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
        elif (problem := _row_problem(entry, current, allowing)) is not None:
            yield problem


def _row_problem(entry: TextRow, current: CurrentTexts, allowing: ImportPermissions) -> RowProblem | None:
    item = current.items.get(entry.item)
    if item is None:
        return RowProblem(entry.row, "item", f"{entry.item!r} is no item of this study", "Import it first.")
    if not item.is_active:
        return RowProblem(entry.row, "item", f"{entry.item} was withdrawn", "Leave the row out.")
    if entry.system and entry.system not in current.systems and not allowing.new_systems:
        remedy = "Mend the name, or say that the file may name new systems."
        return RowProblem(entry.row, "system", f"{entry.system!r} is no system of this study", remedy)
    if current.has(entry):
        return None
    if entry.system and current.answers_of(entry):
        remedy = "Answers are never replaced: name another system."
        return RowProblem(entry.row, "text", f"{entry.system} has another answer to {entry.item}", remedy)
    return _field_problem(entry, item, allowing) if entry.field else None


def _field_problem(entry: TextRow, item: CurrentItem, allowing: ImportPermissions) -> RowProblem | None:
    if item.texts[entry.field] and not allowing.anew:
        remedy = "Leave the row out, or say that texts may be replaced."
        return RowProblem(entry.row, "text", f"{entry.item} has another {entry.field} already", remedy)
    if item.is_judged and not allowing.judged:
        remedy = "Leave the row out, or say that judged items may change: they are judged anew then."
        return RowProblem(entry.row, "item", f"{entry.item} has been judged", remedy)
    return None


def _current_item(item: Item, judged: set[int]) -> CurrentItem:
    version = item.current_version
    assert version is not None
    return CurrentItem(
        version.pk,
        item.state == Item.State.ACTIVE,
        version.pk in judged,
        {name: getattr(version, name) for name in CORRECTABLE_FIELDS},
    )


COLUMNS = ("item", "system", "field", "text")
FORMATS = (".csv", ".tsv", ".jsonl")
MOST_ROWS = 200_000
_SHOWN = 20
_IMPORT_LOCK = 7_303_025


@dataclass(frozen=True)
class ImportedTexts:
    """The result of an import: the run that publishes what was new in it, None where nothing was."""

    n_rows: int
    n_there: int
    run: WritingRun | None


@transaction.atomic
def import_texts(
    study: Study,
    source: Path,
    *,
    name: str = "",
    allowing: ImportPermissions = ImportPermissions(),  # frozen
    publishes: bool = True,
    actor: User | None,
    wake: bool = True,
) -> ImportedTexts:
    """Check a file and record what is new in it as a run without a writer, all or nothing. A worker publishes it at
    once, or with `publishes=False` when somebody has looked. Raises InvalidInput that names row, field and remedy."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_IMPORT_LOCK, study.pk])
    name = name or source.name
    entries = _read_rows(source, name)
    current = load_current_texts(study, entries)
    if problems := list(islice(row_problems(entries, current, allowing), _SHOWN + 1)):
        raise _refusal(name, problems)
    new = [entry for entry in entries if not current.has(entry)]
    if not new:
        return ImportedTexts(len(entries), len(entries), None)
    run = _create_run(study, new, current, name, allowing, publishes=publishes, actor=actor)
    if wake and publishes:
        WRITING.wake_on_commit(run.pk)
    return ImportedTexts(len(entries), len(entries) - len(new), run)


def _create_run(
    study: Study,
    new: Sequence[TextRow],
    current: CurrentTexts,
    name: str,
    allowing: ImportPermissions,
    *,
    publishes: bool,
    actor: User | None,
) -> WritingRun:
    answers = bool(new[0].system)
    run = WritingRun.objects.create(
        study=study, source=sanitize_text(name)[:300], publishes=publishes, created_by=actor,
        n_rows=len(new), n_done=len(new),
        purpose=WritingRun.Purpose.ANSWERS if answers else WritingRun.Purpose.ITEMS,
        filter={"judged": True} if allowing.judged else {},
        # A file's texts are written; what is left to do is to publish them.
        state=WritingRun.State.QUEUED if publishes else WritingRun.State.DONE,
        finished_at=None if publishes else timezone.now(),
    )  # fmt: skip
    named = {entry.system for entry in new if entry.system}
    for missing in sorted(named - set(current.systems)):
        current.systems[missing] = System.objects.create(study=study, name=missing).pk
    now = timezone.now()
    for some in batches(new):
        WritingRow.objects.bulk_create(
            WritingRow(
                run=run, item_version_id=current.items[entry.item].version_id, field=entry.field,
                system_id=current.systems[entry.system] if entry.system else None,
                text=entry.text, state=WritingRow.State.DONE, written_at=now,
            )
            for entry in some
        )  # fmt: skip
    audit.record(
        "writing.taken_in", actor=actor, study=study, subject=f"writing run {run.pk}", source=run.source,
        rows=len(new), publishes=publishes,
    )  # fmt: skip
    return run


def _read_rows(source: Path, name: str) -> list[TextRow]:
    """The file's rows. Raises InvalidInput with what cannot be read."""
    if source.suffix.lower() not in FORMATS:
        message = f"{name} is none of {', '.join(FORMATS)}."
        raise InvalidInput.of_field("file", message, "Save it as one of these.")
    entries: list[TextRow] = []
    problems: list[RowProblem] = []
    for row in _iterate_rows(source):
        if isinstance(row, TextRow):
            entries.append(row)
        else:
            problems.append(row)
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
        raise _refusal(name, problems)
    return entries


def _iterate_rows(source: Path) -> Iterator[TextRow | RowProblem]:
    suffix = source.suffix.lower()
    if suffix == ".jsonl":
        rows = json_files.json_lines(source)
    else:
        rows = csv_files.csv_rows(source, delimiter="\t" if suffix == ".tsv" else ",")
    for row in rows:
        yield row if isinstance(row, RowProblem) else _parse_row(*row)


def _parse_row(row: str, cells: dict[str, Any]) -> TextRow | RowProblem:
    for name, value in cells.items():
        if name not in COLUMNS:
            return RowProblem(
                row, sanitize_text(name), "is no column of such a file", f"Use {', '.join(COLUMNS)}."
            )
        if value is not None and not isinstance(value, str):
            return RowProblem(row, name, "is not a text", "Write it in quotes.")
        if value is not None and sanitize_text(value) != value:
            return RowProblem(row, name, "holds a character that no text can hold", "Take it out.")
    item, system, field = ((cells.get(name) or "").strip() for name in COLUMNS[:3])
    text = normalize_text(cells.get("text") or "")
    if not item:
        return RowProblem(row, "item", "is missing", "Name the item as it was imported.")
    if bool(system) == bool(field):
        how = "both are given" if system else "neither is given"
        return RowProblem(row, "system, field", how, "Name the system that answers, or the item's field.")
    if field and field not in CORRECTABLE_FIELDS:
        return RowProblem(
            row, "field", f"{field!r} is no field of an item", f"Use {', '.join(CORRECTABLE_FIELDS)}."
        )
    if len(system) > MAX_NAME_LENGTH:
        return RowProblem(
            row, "system", f"is longer than {MAX_NAME_LENGTH} characters", "Use a shorter name."
        )
    if LIST_SEPARATOR in system:
        return RowProblem(row, "system", "holds the control character U+001F", "Remove it.")
    if not text:
        return RowProblem(row, "text", "is empty", "Write the text, or leave the row out.")
    return TextRow(row, item, system, field, text)


def _refusal(name: str, problems: Sequence[RowProblem]) -> InvalidInput:
    more = " Only the first are shown." if len(problems) > _SHOWN else ""
    return InvalidInput(
        f"{name} cannot be taken in as it is; nothing was kept.{more}",
        problems=[_field_problem_of(problem) for problem in problems[:_SHOWN]],
    )


def _field_problem_of(problem: RowProblem) -> FieldProblem:
    where = f"row {problem.row}, {problem.field}" if problem.field else f"row {problem.row}"
    return FieldProblem(where, f"{problem.problem}.", problem.remedy)


# ── uploads ──

MOST_UPLOAD_BYTES = 50_000_000
UPLOAD_TOO_LARGE = "The file may have 50 MB at most. Split it, or use the command."


def import_uploaded_texts(
    study: Study,
    upload: UploadedFile[bytes],
    *,
    allowing: ImportPermissions,
    publishes: bool,
    actor: User | None,
) -> ImportedTexts:
    """`import_texts` of what was uploaded; the file itself is not kept. Raises InvalidInput."""
    if upload.size is None or upload.size > MOST_UPLOAD_BYTES:
        raise InvalidInput.of_field("file", UPLOAD_TOO_LARGE)
    name = Path((upload.name or "texts").replace("\x00", "")).name or "texts"
    with tempfile.NamedTemporaryFile(suffix=Path(name).suffix) as copy:
        for chunk in upload.chunks():
            copy.write(chunk)
        copy.flush()
        return import_texts(
            study, Path(copy.name), name=name, allowing=allowing, publishes=publishes, actor=actor
        )
