"""Exports: judgments, items, checks, corrections, cases and skipped tasks of a study in one format, with a manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db.models import Count, F, Q

from analytics.code_version import code_version
from analytics.data.postgres import consistent_snapshot
from analytics.datasets.formats import EXPORT_FORMATS, RecordFormat, TableFormat, TaskFormat
from analytics.datasets.judged_tasks import (
    TASK_FILTER,
    TEXT_VERSIONS,
    item_versions,
    most_candidates,
    task_records,
)
from analytics.datasets.snapshot import policy_facts, protocol_facts, study_facts
from analytics.datasets.storage import (
    JobArchives,
    OnProgress,
    ProgressCounter,
    WrittenFile,
    complete_folder,
    write_lines,
    write_manifest,
)
from analytics.datasets.values import Record
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.jobs.jobs import RunningJob
from annotation.models import (
    Answer,
    Assignment,
    Candidate,
    Correction,
    Job,
    Judgment,
    ListeningCheck,
    RaterWithdrawal,
    ReviewCase,
    Study,
    Task,
    User,
)
from annotation.protocols import Protocol
from annotation.rating import counted
from annotation.studies import audit
from annotation.studies.protocols import load_protocol

PROGRESS_EVERY = 1000
EXPORT_SCHEMA = 1
# Nothing but versions of items is left out: the reader of the export decides by the marks.
EXPORT_FILTERS = {
    "judgments": "all, with their marks",
    "hidden_checks": "all but those of withdrawn raters",
    "checks": "all that were finished",
    "corrections": "all, undone ones marked",
    "cases": "all",
    "skips": "all",
}
# In the order in which they are written.
RECORD_FILES = ("judgments", "items", "hidden_checks", "checks", "corrections", "cases", "skips")
ITEM_FILTERS = {
    "original": "last versions before any correction",
    "corrected": "current versions",
    "both": "all versions",
}


def exporter(format: str) -> RecordFormat | TaskFormat | TableFormat:
    if format not in EXPORT_FORMATS:
        raise InvalidInput(
            f"{format!r} is not an export format; use {' or '.join(EXPORT_FORMATS)}.", code="bad_format"
        )
    return EXPORT_FORMATS[format]


def check_options(study: Study, *, format: str, texts: str) -> None:
    """Refuse what cannot be begun: no format or texts of ours, or trials that cannot be written in this format."""
    chosen = exporter(format)
    if isinstance(chosen, TaskFormat) and (reason := chosen.refused(_protocol(study))):
        raise InvalidInput(reason, code="bad_format")
    if texts not in TEXT_VERSIONS:
        raise InvalidInput(
            f"{texts!r} are not texts that can be asked for; use {', '.join(TEXT_VERSIONS)}.",
            code="bad_texts",
        )


def _protocol(study: Study) -> Protocol:
    return load_protocol(study.protocol_version_id).spec


def write_export(
    study: Study, *, format: str, out: Path, texts: str = "both", on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all. Equal data and equal code give equal bytes. `texts` names which versions
    of items are listed (TEXT_VERSIONS). `on_progress` gets how much is written so far, of `expected_progress`, inside
    the transaction that reads the snapshot.
    """
    check_options(study, format=format, texts=texts)
    with complete_folder(out) as folder, consistent_snapshot():
        manifest = _write_files(
            folder, Study.objects.get(pk=study.pk), format=format, texts=texts, on_progress=on_progress
        )
        write_manifest(folder, manifest)
    return manifest


def expected_progress(study: Study, format: str) -> int:
    """About how much `on_progress` will hear of: judgments, or rows where tables are written."""
    if isinstance(exporter(format), TableFormat):
        return expected_rows(study)
    return Judgment.objects.filter(study=study).count()


def expected_rows(study: Study) -> int:
    """Of the largest tables of a release; the others are small beside them."""
    answers = Answer.objects.filter(judgment__study=study).count()
    return 2 * Judgment.objects.filter(study=study).count() + answers


def _write_files(
    folder: Path, study: Study, *, format: str, texts: str, on_progress: OnProgress | None
) -> dict[str, Any]:
    """The files of an export, and their manifest."""
    chosen, filters = exporter(format), EXPORT_FILTERS
    progress = ProgressCounter(on_progress, PROGRESS_EVERY)
    if isinstance(chosen, TableFormat):
        from analytics.datasets import (
            table_files,  # pyarrow is slow to import, and only exports of tables need it
        )

        files = table_files.write_export_tables(study, folder, texts=texts, on_progress=on_progress)
        counts = table_counts(study, texts)
        filters = {name: rows for name, rows in EXPORT_FILTERS.items() if name != "hidden_checks"}
    elif isinstance(chosen, RecordFormat):
        from analytics.datasets import record_counts, records

        judgments, tally = ProgressCounter(on_progress), record_counts.RecordCounts()
        files = {}
        for name in RECORD_FILES:
            path = folder / f"{name}.{chosen.extension}"
            heard = judgments.add if name == "judgments" else _unheard
            files[path.name] = records.write_records(
                study, name, path, texts=texts, on_records=heard, counts=tally
            )
        counts = _all_counts(tally.as_json(texts))
    else:
        of_tasks = TaskCounts()
        tasks = progress.over(of_tasks.count(task_records(study, texts=texts)))
        lines = chosen.files(_protocol(study), tasks, most_candidates(study, texts=texts))
        files, counts, filters = _write_lines(folder, lines), of_tasks.as_json(), {"judgments": TASK_FILTER}
    # A function of the data and the code alone: no time, no place, no person.
    return {
        "schema": EXPORT_SCHEMA,
        "format": format,
        "texts": texts,
        "code_version": code_version(),
        "study": study_facts(study),
        "protocols": protocol_facts(study.protocol_versions.all()),
        "ordering_policies": policy_facts(study.ordering_policies.all()),
        "filters": {**filters, "items": ITEM_FILTERS[texts]},
        "counts": counts,
        "files": {name: {"bytes": file.bytes, "sha256": file.sha256} for name, file in files.items()},
    }


def _unheard(n: int) -> None:
    """Judgments alone are progress: the others are few beside them."""


def _write_lines(folder: Path, lines: Mapping[str, Iterable[str]]) -> dict[str, WrittenFile]:
    return {name: write_lines(folder / name, own) for name, own in lines.items()}


# Counts of an export's manifest.

_COUNTS = (
    "judgments", "answers", "standing", "excluded", "surplus", "by_unnamed_raters", "by_experts", "items",
    "item_versions", "item_versions_retracted", "candidates", "hidden_checks", "checks", "checks_passed", "corrections",
    "corrections_undone", "cases", "cases_decided", "skips", "raters",
)  # fmt: skip


def _all_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """In their order; what nothing was counted of is 0."""
    return {name: counts.get(name, 0) for name in _COUNTS}


def table_counts(study: Study, texts: str) -> dict[str, int]:
    """What an export of tables holds. They mark the judgments of anonymised raters as excluded."""
    versions = item_versions(study, texts=texts)
    current = Q(pk__isnull=False) if texts == "original" else Q(item__current_version=F("pk"))
    checks = ListeningCheck.objects.filter(
        rater__study=study, finished_at__isnull=False, rater__withdrawal=None
    )
    corrections = Correction.objects.filter(version_after__item__study=study)
    cases = ReviewCase.objects.filter(study=study)
    skipped = Assignment.objects.filter(
        rater__study=study, state=Assignment.State.SKIPPED, rater__withdrawal=None
    )
    counts = {
        **_judgment_counts(study),
        **versions.aggregate(
            item_versions=Count("pk"),
            items=Count("pk", filter=current),
            item_versions_retracted=Count("pk", filter=Q(retracted=True)),
        ),
        "candidates": Candidate.objects.filter(item_version__in=versions).count(),
        "checks": checks.count(),
        "checks_passed": checks.filter(state=ListeningCheck.State.PASSED).count(),
        "corrections": corrections.count(),
        "corrections_undone": corrections.filter(version_after__retracted=True).count(),
        "cases": cases.count(),
        "cases_decided": cases.filter(state=ReviewCase.State.RESOLVED).count(),
        "skips": skipped.count(),
    }
    return _all_counts(counts)


def _judgment_counts(study: Study) -> dict[str, int]:
    """By rater and without looking tasks up, of which only those of checks are left out: there are few. All judgments
    of a large study joined to what says so take as long as writing them."""
    modes = dict(RaterWithdrawal.objects.filter(rater__study=study).values_list("rater", "mode"))
    removed = [rater for rater, mode in modes.items() if mode == RaterWithdrawal.Mode.REMOVED]
    excluded = Q(excluded=True) | Q(rater__in=modes)
    judgments = Judgment.objects.filter(study=study).exclude(
        task__in=Task.objects.filter(study=study, kind__gt=Task.Kind.REGULAR)
    )
    of_raters = judgments.exclude(rater__in=removed).order_by().values("rater")
    counted_rows = of_raters.annotate(
        n_judgments=Count("pk"),
        n_standing=Count("pk", filter=counted.IS_COUNTED & ~excluded),
        n_excluded=Count("pk", filter=excluded),
        n_surplus=Count("pk", filter=Q(surplus=True)),
        n_by_experts=Count("pk", filter=Q(origin=Judgment.Origin.EXPERT)),
    )
    rows: list[dict[str, Any]] = [dict(row) for row in counted_rows]
    names = ("judgments", "standing", "excluded", "surplus", "by_experts")
    totals = {name: sum(row[f"n_{name}"] for row in rows) for name in names}
    of_named = [row["n_judgments"] for row in rows if row["rater"] is not None and row["rater"] not in modes]
    answers = Answer.objects.filter(task__study=study, task__kind=Task.Kind.REGULAR)
    of_removed = answers.filter(judgment__rater__in=removed)  # no query where there are none
    return {
        **totals,
        "by_unnamed_raters": totals["judgments"] - sum(of_named),
        "raters": len(of_named),
        "answers": answers.count() - of_removed.count(),
    }


@dataclass
class TaskCounts:
    """Counts of the records of tasks on their way to a file; every judgment in them stands."""

    counts: Counter[str] = field(default_factory=Counter)
    raters: set[str] = field(default_factory=set)

    def count(self, records: Iterable[Record]) -> Iterator[Record]:
        versions: set[int] = set()
        items: set[str] = set()
        candidates: set[int] = set()
        for record in records:
            judgments = record["judgments"]
            self.raters.update(judgment["rater"] for judgment in judgments)
            versions.add(record["version_id"])
            items.add(record["item"])
            candidates.update(candidate["candidate_id"] for candidate in record["candidates"])
            self.counts.update(
                judgments=len(judgments),
                standing=len(judgments),
                answers=sum(len(judgment["answers"]) for judgment in judgments),
                by_unnamed_raters=sum(not judgment["rater"] for judgment in judgments),
            )
            yield record
        self.counts.update(item_versions=len(versions), items=len(items), candidates=len(candidates))

    def as_json(self) -> dict[str, int]:
        return _all_counts({**self.counts, "raters": len(self.raters - {""})})


def write_audited_export(study: Study, *, format: str, texts: str, out: Path) -> dict[str, Any]:
    """As `write_export`, with a line in the audit log: for commands, which no account calls."""
    manifest = write_export(study, format=format, texts=texts, out=out)
    audit.record(
        "export.written", actor=None, study=study, format=format, texts=texts, counts=manifest["counts"]
    )
    return manifest


# Export jobs.

EXPORT_JOB = "export"
EXPORT_ARCHIVES = JobArchives(EXPORT_JOB, "exports", noun="export", verb="written")


def start_export(study: Study, *, format: str, texts: str = "both", actor: User) -> Job:
    check_options(study, format=format, texts=texts)
    return jobs.enqueue(EXPORT_JOB, study=study, params={"format": format, "texts": texts}, actor=actor)


def run_export(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    job, format = running.job, running.job.params["format"]
    assert job.study is not None
    study = job.study
    return EXPORT_ARCHIVES.write(
        running,
        stem=export_file_stem(job),
        total=expected_progress(study, format),
        write=lambda folder, progress: write_export(
            study, format=format, texts=_texts_of(job), out=folder, on_progress=progress
        ),
        reported=("counts",),
    )


def export_file_stem(job: Job) -> str:
    assert job.study is not None
    texts = _texts_of(job)
    return f"{job.study.slug}-{job.params['format']}{'' if texts == 'both' else f'-{texts}'}"


def _texts_of(job: Job) -> str:
    """Exports from before there was a choice list every version."""
    return str(job.params.get("texts", "both"))
