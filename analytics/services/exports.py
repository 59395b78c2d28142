"""Writing a study out: judgments, items, listening checks, corrections and review cases, in one of the formats, with a
manifest of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analytics.exporters import EXPORTERS, Exporter, TableExporter, TaskExporter
from analytics.records import task_records
from analytics.records.cases import case_records
from analytics.records.checks import check_records
from analytics.records.corrections import correction_records
from analytics.records.items import TEXTS, item_records
from analytics.records.judgments import judgment_records
from analytics.records.moment import one_moment
from analytics.services.manifest import Tally, manifest
from annotation.errors import InvalidInput
from annotation.models import Answer, Judgment, Study
from annotation.protocols import Protocol
from annotation.services.protocols import loaded

OnProgress = Callable[[int], None]

MANIFEST = "manifest.json"
PROGRESS_EVERY = 1000


def exporter(format: str) -> Exporter | TaskExporter | TableExporter:
    if format not in EXPORTERS:
        raise InvalidInput(
            f"{format!r} is not an export format; use {' or '.join(EXPORTERS)}.", code="bad_format"
        )
    return EXPORTERS[format]


def check_format(study: Study, format: str) -> None:
    """Refuse what cannot be begun: no format of ours, or none that this study's trials can be written in."""
    chosen = exporter(format)
    if isinstance(chosen, TaskExporter) and (reason := chosen.refused(_protocol(study))):
        raise InvalidInput(reason, code="bad_format")


def _protocol(study: Study) -> Protocol:
    return loaded(study.protocol_version_id).spec


def check_texts(texts: str) -> None:
    if texts not in TEXTS:
        raise InvalidInput(
            f"{texts!r} are not texts that can be asked for; use {', '.join(TEXTS)}.", code="bad_texts"
        )


def write(
    study: Study, *, format: str, out: Path, texts: str = "both", on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all. Equal data and equal code give equal bytes. `texts` names
    which versions of items are listed, by `records.items.TEXTS`. `on_progress` hears how much is written so far, of
    `expected`; it is called inside the transaction that keeps the export of one moment.
    """
    check_format(study, format)
    chosen = exporter(format)
    check_texts(texts)
    _check_free(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        made = _fill(partial, study, format=format, texts=texts, chosen=chosen, on_progress=on_progress)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return made


def expected(study: Study, format: str) -> int:
    """About how much `on_progress` will hear of: judgments, or rows where tables are written."""
    if isinstance(exporter(format), TableExporter):
        return expected_rows(study)
    return Judgment.objects.filter(study=study).count()


def expected_rows(study: Study) -> int:
    """Of the largest tables of a release; the others are small beside them."""
    answers = Answer.objects.filter(judgment__study=study).count()
    return 2 * Judgment.objects.filter(study=study).count() + answers


def _check_free(out: Path) -> None:
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists():
        raise InvalidInput(
            f"{out} is there already and not an empty folder; name one that is empty or not there yet.",
            code="not_empty",
        )


def _fill(
    folder: Path,
    study: Study,
    *,
    format: str,
    texts: str,
    chosen: Exporter | TaskExporter | TableExporter,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    tally = Tally(texts)
    with one_moment():
        study = Study.objects.get(pk=study.pk)
        if isinstance(chosen, TableExporter):
            from analytics.services import table_exports  # pyarrow is no business of processes that only ask

            files = table_exports.write(study, folder, texts=texts, tally=tally, on_progress=on_progress)
        else:
            parts = _parts(study, chosen, texts=texts, tally=tally, on_progress=on_progress)
            files = {name: _write_lines(folder / name, lines) for name, lines in parts.items()}
        made = manifest(study, format=format, texts=texts, tally=tally, files=files)
        if isinstance(chosen, TaskExporter):
            made["filters"] = {"judgments": task_records.FILTER, "items": made["filters"]["items"]}
    text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return made


def _parts(
    study: Study,
    chosen: Exporter | TaskExporter,
    *,
    texts: str,
    tally: Tally,
    on_progress: OnProgress | None,
) -> Mapping[str, Iterator[str]]:
    """The lines of each file, by its name."""
    if isinstance(chosen, TaskExporter):
        return _of_tasks(study, chosen, texts=texts, tally=tally, on_progress=on_progress)
    return _of_records(study, chosen, texts=texts, tally=tally, on_progress=on_progress)


def _of_records(
    study: Study, chosen: Exporter, *, texts: str, tally: Tally, on_progress: OnProgress | None
) -> dict[str, Iterator[str]]:
    judgments = _reported(tally.judgments(judgment_records(study)), on_progress)
    parts = {
        "judgments": chosen.judgments(judgments),
        "items": chosen.items(tally.items(item_records(study, texts=texts))),
        "checks": chosen.checks(tally.checks(check_records(study))),
        "corrections": chosen.corrections(tally.corrections(correction_records(study))),
        "cases": chosen.cases(tally.cases(case_records(study))),
    }
    return {f"{name}.{chosen.extension}": lines for name, lines in parts.items()}


def _of_tasks(
    study: Study, chosen: TaskExporter, *, texts: str, tally: Tally, on_progress: OnProgress | None
) -> Mapping[str, Iterator[str]]:
    tasks = _reported(tally.tasks(task_records.task_records(study, texts=texts)), on_progress)
    return chosen.files(
        _protocol(study), tasks, n_candidates=task_records.most_candidates(study, texts=texts)
    )


def _reported(records: Iterable[dict[str, Any]], on_progress: OnProgress | None) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(records, start=1):
        if on_progress is not None and number % PROGRESS_EVERY == 0:
            on_progress(number)
        yield record


def _write_lines(path: Path, lines: Iterable[str]) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in lines:
            data = line.encode()
            file.write(data)
            digest.update(data)
            size += len(data)
    return {"bytes": size, "sha256": digest.hexdigest()}
