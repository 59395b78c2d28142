"""Import a source into a study and wait for it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.errors import DomainError
from annotation.importing import import_jobs
from annotation.importing.formats import FORMATS
from annotation.importing.options import ImportOptions, NewStudy, check_options
from annotation.jobs import jobs
from annotation.models import Job, Study

# A worker that runs picks the job up within a second; without one, this process does it itself.
PATIENCE_SECONDS = 3.0
COLUMNS = ("row", "field", "problem", "remedy")


class Command(BaseCommand):
    help = "Import items, candidates and judgments into a study, which is created if it does not exist."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="a file, or a folder of files")
        parser.add_argument("--format", required=True, choices=sorted(FORMATS))
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--title", default="", help="of a study that is created; the slug otherwise")
        parser.add_argument("--protocol", default="", metavar="PRESET", help="of a study that is created")
        parser.add_argument("--overlap", type=int, help="judgments wanted per task")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="read COLUMN as FIELD; empty: leave it out",
        )
        parser.add_argument("--dry-run", action="store_true", help="check everything, change nothing")
        parser.add_argument("--skip-bad-rows", action="store_true", help="import the rows that can be used")

    def handle(self, *args: Any, **options: Any) -> None:
        overlap = options["overlap"]
        if overlap is not None and not 1 <= overlap <= 1000:
            raise CommandError("--overlap is a number from 1 to 1000.")
        study, new_study = self._study(options)
        rules = {
            **{name: options[name] for name in ("format", "overlap", "dry_run", "skip_bad_rows")},
            "column_map": dict(_pair(pair) for pair in options["map"]),
            "archive": study is None and overlap is None,
            "new_study": new_study,
        }
        try:
            if options["dry_run"]:
                order = ImportOptions(str(options["source"].resolve()), **rules)
                check_options(study, order)
                report = import_jobs.run_dry(study, order, progress=self._show)
            else:
                report = self._import(study, options["source"], rules)
        except DomainError as error:
            raise CommandError(error.message) from error
        except jobs.JobFailed as failure:
            self._tell_problems(failure.report)
            raise CommandError(str(failure)) from failure
        self._tell_problems(report)
        self._tell_result(report)

    def _study(self, options: dict[str, Any]) -> tuple[Study | None, NewStudy | None]:
        slug, preset = options["study"], options["protocol"]
        study = Study.objects.select_related("protocol_version").filter(slug=slug).first()
        if study is not None:
            if preset and study.protocol_version and preset != study.protocol_version.preset:
                raise CommandError(
                    f"{slug} asks by {study.protocol_version.preset} already; leave --protocol out."
                )
            return study, None
        preset = preset or FORMATS[options["format"]].protocol
        if not preset:
            raise CommandError("The study does not exist yet: name its protocol, e.g. --protocol orca.")
        return None, NewStudy(slug, options["title"] or slug, preset, options["overlap"] or 3)

    def _import(self, study: Study | None, source: Path, rules: dict[str, Any]) -> dict[str, Any]:
        job = import_jobs.start(study, source, actor=None, **rules)
        began = time.monotonic()
        while not job.is_finished:
            if job.state == Job.State.QUEUED and time.monotonic() - began > PATIENCE_SECONDS:
                jobs.run(job.pk)  # whoever claims it first does it
            time.sleep(0.2)
            job.refresh_from_db()
            self._show(job.done, job.total, stage=job.stage)
        if job.state != Job.State.DONE:
            raise jobs.JobFailed(job.message, report=job.report)
        return dict(job.report)

    def _show(self, done: int, total: int | None = None, *, stage: str = "") -> None:
        if sys.stderr.isatty() and stage:
            self.stderr.write(f"\r{stage}: {done}{f' of {total}' if total else ''}   ", ending="")
            self.stderr.flush()

    def _tell_problems(self, report: dict[str, Any]) -> None:
        problems = report.get("problems") or []
        if not problems:
            return
        table = [COLUMNS, *(tuple(problem[name] for name in COLUMNS) for problem in problems)]
        widths = [min(60, max(map(len, column))) for column in zip(*table, strict=True)]
        for row in table:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stderr.write("  ".join(cells).rstrip())
        if (more := report["n_problems"] - len(problems)) > 0:
            self.stderr.write(f"… and {more} more")

    def _tell_result(self, report: dict[str, Any]) -> None:
        for note in report.get("notes", []):
            self.stdout.write(note)
        if report.get("dry_run"):
            self.stdout.write(
                f"Would import {report['tasks']} tasks with {report['judgments']} judgments. Nothing was changed."
            )
            return
        created = report["created"]
        self.stdout.write(
            f"Read {report['tasks']} tasks with {report['judgments']} judgments. New: {created['items']} items, "
            f"{created['tasks']} tasks, {created['judgments']} judgments, {created['raters']} raters."
        )


def _pair(text: str) -> tuple[str, str]:
    column, sign, field = text.partition("=")
    if not sign or not column:
        raise CommandError(f"--map {text}: write COLUMN=FIELD.")
    return column, field
