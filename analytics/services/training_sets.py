"""Making a training set of a study: from the database through the builders to a folder, checked for leaks."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analytics.questions import MeasuredQuestion, measured_questions
from analytics.records import judged_tasks
from analytics.records.judged_tasks import Wanted
from analytics.records.moment import one_moment
from analytics.services import training_set_sounds
from analytics.services.code_version import code_version
from analytics.training_sets import checking, files, formats, making
from analytics.training_sets.card import card, file_name, sounds_folder
from analytics.training_sets.contract import Format, Judged, Making, Question
from analytics.training_sets.grouping import PARTS
from analytics.training_sets.making import Survey
from analytics.training_sets.options import Options, TrainingSetError
from annotation.errors import InvalidInput
from annotation.models import Study

OnProgress = Callable[[int], None]

SCHEMA = 1
MANIFEST, CARD = "manifest.json", "README.md"
PROGRESS_EVERY = 200


@dataclass(frozen=True)
class Order:
    """A set that can be made: the options, what they come to, and what is read for it."""

    study: Study
    options: Options
    format: Format
    questions: tuple[Question, ...]
    wanted: Wanted

    def tasks(self) -> Iterator[Judged]:
        return judged_tasks.judged_tasks(self.study, self.wanted)


def order(study: Study, options: Options) -> Order:
    """Raises InvalidInput where the study has nothing of what is asked for, or choices do not go together."""
    measured = measured_questions(study)
    try:
        chosen, questions = formats.checked(options, [_asked(one) for one in measured])
    except TrainingSetError as error:
        raise InvalidInput(str(error), code=error.code) from error
    keys = {question.key for question in questions}
    scores = any(column.kind in ("scores", "own_scores") for column in chosen.columns)
    wanted = Wanted([one for one in measured if one.key in keys], options.texts, options.votes, scores)
    return Order(study, options, chosen, questions, wanted)


def write(
    study: Study, options: Options, *, out: Path, on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all; equal data and equal code give equal bytes. `on_progress` hears how many
    tasks have been read: each is read twice. Raises InvalidInput, with the code `leak` where the finished files leak.
    """
    ordered = order(study, options)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(f"{out} is there already and not an empty folder; name another.", code="not_empty")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        made = _fill(partial, ordered, _Progress(on_progress))
        if out.exists():
            out.rmdir()
        partial.rename(out)
    except TrainingSetError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InvalidInput(str(error), code=error.code) from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return made


class _Progress:
    def __init__(self, told: OnProgress | None) -> None:
        self._told, self._done = told, 0

    def over(self, tasks: Iterable[Judged]) -> Iterator[Judged]:
        for judged in tasks:
            self._done += 1
            if self._told is not None and self._done % PROGRESS_EVERY == 0:
                self._told(self._done)
            yield judged


def _fill(folder: Path, ordered: Order, progress: _Progress) -> dict[str, Any]:
    options, chosen = ordered.options, ordered.format
    with one_moment():
        found = making.survey(progress.over(ordered.tasks()), options, ordered.questions)
        made = making.making_of(options, found)
        counts, sounds = _write_rows(folder, ordered, found, made, progress)
        leakage = _checked(folder, ordered, counts)
        if options.audio:
            training_set_sounds.copy(sounds, folder / sounds_folder(counts))
    manifest = {
        "schema": SCHEMA,
        "format": chosen.key,
        "file": options.file or chosen.files[0],
        "options": options.as_json(),
        "code_version": code_version(),
        "study": {name: getattr(ordered.study, name) for name in ("slug", "title", "seed")},
        "protocols": list(
            ordered.study.protocol_versions.order_by("number").values("number", "preset", "definition_sha256")
        ),
        "questions": [question.key for question in ordered.questions],
        "votes": dict(sorted(found.origins.items())),
        "groups": found.groups,
        "counts": counts,
        "left_out": {reason: n for reason, n in sorted(made.left_out.items()) if n},
        "noted": {what: n for what, n in sorted(made.noted.items()) if n},
        "weights": {key: dict(sorted(own.items())) for key, own in found.weights.items()},
        "leakage": leakage,
        "files": {},
    }
    (folder / CARD).write_text(card(manifest, chosen), encoding="utf-8")
    manifest["files"] = _hashes(folder)
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return manifest


def _write_rows(
    folder: Path, ordered: Order, found: Survey, made: Making, progress: _Progress
) -> tuple[dict[str, dict[str, int]], set[str]]:
    """Rows by table and split, and the names of the sounds in them."""
    chosen, sounds = ordered.format, set[str]()
    extension = ordered.options.file or chosen.files[0]
    tables = list(making.tables(chosen, ordered.questions))
    writers: dict[tuple[str, str], files.Writer] = {}
    with ExitStack() as opened:
        rows = making.rows(progress.over(ordered.tasks()), found, chosen, made, ordered.questions)
        for table, part, row in rows:
            if (table, part) not in writers:
                path = folder / file_name(table, part, extension)
                path.parent.mkdir(exist_ok=True)
                writers[table, part] = files.WRITERS[extension](path, chosen.columns)
                opened.callback(writers[table, part].close)
            writers[table, part].write(row)
            sounds.update(name for column in chosen.holds.get("clip", ()) if (name := row[column]))
    counts = {
        table: Counter({part: own.rows for (of, part), own in writers.items() if of == table})
        for table in tables
    }
    if not writers:
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in sorted(made.left_out.items()) if n)
        raise TrainingSetError("too_few", f"No row is left. {reasons or 'No vote fits this format'}.")
    return {table: {part: own[part] for part in PARTS} for table, own in counts.items()}, sounds


def _checked(folder: Path, ordered: Order, counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    chosen, options, seen = ordered.format, ordered.options, checking.Seen()
    columns = sorted({name for own in chosen.holds.values() for name in own})
    for table, parts in counts.items():
        for part in PARTS:
            if parts[part]:
                path = folder / file_name(table, part, options.file or chosen.files[0])
                seen.look(part, files.read(path, columns), chosen.holds)
    return checking.judged(seen, groups=options.groups, held_out=options.hold_out_systems)


def _hashes(folder: Path) -> dict[str, Any]:
    found = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    return found


def _asked(question: MeasuredQuestion) -> Question:
    return Question(question.key, question.is_preference, question.points)
