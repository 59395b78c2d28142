"""Examination of a source before its import: its first tasks, what they make in all, and what is wrong so far.

It reads a bounded part and changes nothing; a dry run reads everything and decodes the audio too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path

from annotation.importing import mushra
from annotation.importing.formats import FORMATS
from annotation.importing.formats.folders import source_folder
from annotation.importing.formats.pairing import ALL
from annotation.importing.formats.reading_options import DETECT, ReadingOptions
from annotation.importing.formats.source_files import is_audio_file, walk_files
from annotation.importing.records import Note, RowProblem, TaskRecord, validate_record
from annotation.importing.staging import storable_text
from annotation.protocols import Protocol

MAX_ENTRIES = 5000
MAX_TASKS_SHOWN = 3
MAX_PROBLEMS_SHOWN = 20
MAX_UNNAMED_SHOWN = 5


@dataclass(frozen=True)
class Examination:
    """What an import would make of a source, as far as it was read (`complete`: to its end).

    unnamed_sounds: sounds that lie beside the source and that no row names; the first few of `n_unnamed_sounds`.
    """

    n_tasks: int
    n_items: int
    n_systems: int
    n_judgments: int
    tasks: tuple[TaskRecord, ...]
    problems: tuple[RowProblem, ...]
    n_problems: int
    complete: bool
    unnamed_sounds: tuple[str, ...] = ()
    n_unnamed_sounds: int = 0


def examine(
    format: str,
    source: Path,
    protocol: Protocol,
    column_map: Mapping[str, str],
    *,
    how: ReadingOptions = DETECT,
    max_entries: int = MAX_ENTRIES,
) -> Examination:
    """Read the first entries of a source as an import would."""
    format_ = FORMATS[format]
    options = {"how": how} if format_.options else {}
    entries = format_.read(source, protocol, column_map, **options)
    tasks: dict[str, TaskRecord | None] = {}
    problems: list[RowProblem] = []
    items, systems, sounds = set[str](), set[str](), set[Path]()
    n_judgments = n_entries = 0
    for entry in islice(entries, max_entries):
        n_entries += 1
        if isinstance(entry, RowProblem):
            problems.append(entry)
        elif isinstance(entry, Note):
            continue
        elif record_problems := [*validate_record(entry), *mushra.trial_problems(entry, protocol)]:
            problems += record_problems
        else:
            n_shown = len(tasks)
            tasks.setdefault(entry.external_id, entry if n_shown < MAX_TASKS_SHOWN else None)
            items.add(entry.item.external_id)
            systems |= {candidate.system for candidate in entry.candidates}
            sounds |= {sound for _, sound in entry.audio() if isinstance(sound, Path)}
            n_judgments += len(entry.judgments)
    complete = n_entries < max_entries
    # A sample, or a baseline, leaves clips out that rows name.
    every_clip = how.pairing.kind == ALL
    unnamed = _unnamed_sounds(source, sounds) if complete and every_clip and not problems else []
    return Examination(
        n_tasks=len(tasks),
        n_items=len(items),
        n_systems=len(systems),
        n_judgments=n_judgments,
        tasks=tuple(task for task in tasks.values() if task is not None),
        problems=tuple(
            RowProblem(*map(storable_text, astuple(problem))) for problem in problems[:MAX_PROBLEMS_SHOWN]
        ),
        n_problems=len(problems),
        complete=complete,
        unnamed_sounds=tuple(unnamed[:MAX_UNNAMED_SHOWN]),
        n_unnamed_sounds=len(unnamed),
    )


def _unnamed_sounds(source: Path, named: Collection[Path]) -> list[str]:
    folder = source_folder(source)
    root = folder.resolve()
    return [
        str(path.relative_to(root))
        for path in islice(walk_files(folder), MAX_ENTRIES)
        if isinstance(path, Path) and is_audio_file(path) and path not in named
    ]
