"""Import a source into a study and wait for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from threading import Event, Thread
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from annotation.errors import DomainError
from annotation.importing import import_jobs, uploads
from annotation.importing.formats import FORMATS, RowProblem, columns, table
from annotation.importing.formats.detection import (
    TablePreview,
    clip_design,
    detect_format,
    preview_table,
    suggest_preset,
)
from annotation.importing.formats.dialects import ENCODINGS, SEPARATOR_NAMES, detect_dialect
from annotation.importing.formats.reading_options import ReadingOptions
from annotation.importing.options import (
    MAX_OVERLAP,
    ImportOptions,
    NewStudy,
    check_options,
    check_reading,
)
from annotation.jobs import jobs
from annotation.models import Job, Study, User

READING_OPTIONS = tuple(field.name for field in fields(ReadingOptions))
COLUMNS = ("row", "field", "problem", "remedy")


class Command(BaseCommand):
    help = "Import items, candidates and judgments into a study, which is created if it does not exist."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", type=Path, help="a file, or a folder of files")
        parser.add_argument("--format", choices=sorted(FORMATS), help="as it looks, by default")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--title", default="", help="of a study that is created; the slug otherwise")
        parser.add_argument(
            "--protocol",
            default="",
            metavar="PRESET",
            help="of a study that is created; what fits the columns, by default",
        )
        parser.add_argument(
            "--owner",
            default="",
            metavar="EMAIL",
            help="the account that runs a study that is created; the only admin account, by default",
        )
        parser.add_argument(
            "--workspace", default=None, metavar="ADDRESS", help="the workspace that a study is created in"
        )
        parser.add_argument("--overlap", type=int, help="judgments wanted per task")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="read COLUMN as FIELD; empty: leave it out",
        )
        parser.add_argument(
            "--pair",
            default="",
            metavar="HOW",
            help="comparisons of single clips: all (the default), baseline:NAME, or sample:N pairs per prompt",
        )
        parser.add_argument("--encoding", default="", help=f"{', '.join(ENCODINGS)}; detected by default")
        parser.add_argument(
            "--separator", default="", help=f"{', '.join(SEPARATOR_NAMES)}; detected by default"
        )
        parser.add_argument("--sheet", default="", help="of an Excel workbook; the first by default")
        parser.add_argument("--dry-run", action="store_true", help="check everything, change nothing")
        parser.add_argument("--skip-bad-rows", action="store_true", help="import the rows that can be used")

    def handle(self, *args: Any, **options: Any) -> None:
        overlap, source = options["overlap"], options["source"]
        if overlap is not None and not 1 <= overlap <= MAX_OVERLAP:
            raise CommandError("--overlap is a number from 1 to 1000.")
        column_map = dict(_pair(pair) for pair in options["map"])
        reading = ReadingOptions(**{name: options[name] for name in READING_OPTIONS})
        try:
            if not options["format"]:
                options["format"] = self._detect_format(source)
                if source.is_dir() and options["format"] in uploads.TABLE_SUFFIXES:
                    source = uploads.find_source(source, format=options["format"])
                options["source"] = source
            check_reading(options["format"], reading)
            preview = self._preview(source, options["format"], reading)
            column_map |= self._suggested_map(preview, column_map)
            study, new_study = self._study(options, preview, reading)
            rules = {
                **{name: options[name] for name in ("format", "overlap", "dry_run", "skip_bad_rows")},
                **{name: options[name] for name in READING_OPTIONS},
                "column_map": column_map,
                "new_study": new_study,
            }
            if options["dry_run"]:
                order = ImportOptions(str(source.resolve()), **rules)
                check_options(study, order)
                report = import_jobs.run_dry(study, order, progress=self._show)
            else:
                report = self._import(study, source, rules)
        except DomainError as error:
            raise CommandError(error.message) from error
        except jobs.JobFailed as failure:
            self._tell_problems(failure.report)
            raise CommandError(str(failure)) from failure
        self._tell_problems(report)
        self._tell_result(report)
        if new_study is not None and not options["dry_run"]:
            self._write_owner(new_study)

    def _detect_format(self, source: Path) -> str:
        if not source.exists():
            raise CommandError(f"{source} is not there.")
        detected = detect_format(source)
        if isinstance(detected, RowProblem):
            raise CommandError(f"{detected.problem}. {detected.remedy}")
        format, why = detected
        self.stdout.write(f"Format: {format}. {why}")
        return format

    def _preview(self, source: Path, format: str, reading: ReadingOptions) -> TablePreview | None:
        """The first rows of a table, with how its text is read where that was not named."""
        if format not in table.TABLE_READERS or not source.exists():
            return None
        if source.is_file() and "encoding" in FORMATS[format].options:
            separator = "\t" if format == "tsv" else reading.separator_sign
            dialect = detect_dialect(source, encoding=reading.encoding, separator=separator)
            if not (dialect.encoding == "utf-8" and dialect.separator in (",", "\t")):
                self.stdout.write(
                    f"Read as {dialect.encoding_title}, separated by {dialect.separator_title}."
                )
        return preview_table(source, format, how=reading)

    def _suggested_map(self, preview: TablePreview | None, column_map: Mapping[str, str]) -> dict[str, str]:
        """Suggested fields for columns without a --map, as on the page."""
        if preview is None:
            return {}
        taken = {*column_map.values(), *(name for name in preview.columns if name in columns.FIELDS)}
        suggested = {}
        for column, field in preview.suggested.items():
            if field and field != column and column not in column_map and field not in taken:
                suggested[column] = field
                taken.add(field)
                self.stdout.write(f'{column} is read as {field}. (--map "{column}=" leaves it out.)')
        return suggested

    def _study(
        self, options: dict[str, Any], preview: TablePreview | None, reading: ReadingOptions
    ) -> tuple[Study | None, NewStudy | None]:
        slug, preset = options["study"], options["protocol"]
        study = Study.objects.select_related("protocol_version").filter(slug=slug).first()
        if study is not None:
            if preset and study.protocol_version and preset != study.protocol_version.preset:
                raise CommandError(
                    f"{slug} asks by {study.protocol_version.preset} already; leave --protocol out."
                )
            if options["owner"]:
                raise CommandError(f"{slug} exists already; add people on its People page.")
            if options["workspace"]:
                raise CommandError(f"{slug} exists already; move it to a workspace on its settings page.")
            return study, None
        preset = preset or FORMATS[options["format"]].protocol
        if not preset and preview is not None:
            preset = _suggested_preset(options["source"], options["format"], preview, reading)
            self.stdout.write(f"Protocol: {preset}, which fits the columns. (--protocol names another.)")
        if not preset:
            raise CommandError("The study does not exist yet: name its protocol, e.g. --protocol orca.")
        owner = _owner(options["owner"])
        new = NewStudy(
            slug,
            options["title"] or slug,
            preset,
            options["overlap"] or 0,
            owner.pk if owner else None,
            options["workspace"],
        )
        return None, new

    def _write_owner(self, new: NewStudy) -> None:
        if new.owner is not None:
            owner = User.objects.get(pk=new.owner)
            self.stdout.write(f"{owner.email} runs the study.")
            return
        self.stdout.write(
            "Nobody runs the study yet. Make an admin account (./run manage createsuperuser): it sees every study, "
            "and adds others on the study's People page. Next time, name somebody with --owner EMAIL."
        )

    def _import(self, study: Study | None, source: Path, rules: dict[str, Any]) -> dict[str, Any]:
        # Here and now: a worker goes on with it where this process is stopped.
        job = import_jobs.start(study, source, actor=None, **rules)
        with self._shown(job):
            jobs.run_inline(job)
        if job.state != Job.State.DONE:
            raise jobs.JobFailed(job.message, report=job.report)
        return dict(job.report)

    @contextmanager
    def _shown(self, job: Job) -> Iterator[None]:
        """Show a job's progress on a terminal, as its row has it."""
        ended = Event()

        def show() -> None:
            while not ended.wait(1.0):
                row = Job.objects.only("done", "total", "stage").get(pk=job.pk)
                self._show(row.done, row.total, stage=row.stage)
            connection.close()

        thread = Thread(target=show, daemon=True)
        if sys.stderr.isatty():
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if thread.is_alive():
                thread.join()

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


def _owner(email: str) -> User | None:
    """The account that is named; without a name the only admin account of the site, if there is one alone."""
    if email:
        owner = User.objects.filter(email=email.strip().lower(), is_active=True).first()
        if owner is None:
            raise CommandError(f"--owner: nobody here has the address {email}. Add the account first.")
        return owner
    admins = list(User.objects.filter(is_superuser=True, is_active=True)[:2])
    return admins[0] if len(admins) == 1 else None


def _suggested_preset(source: Path, format: str, preview: TablePreview, reading: ReadingOptions) -> str:
    design = clip_design(source, format, preview.suggested, how=reading)
    return suggest_preset(set(preview.suggested.values()), compares=design.compares)


def _pair(text: str) -> tuple[str, str]:
    column, sign, field = text.partition("=")
    if not sign or not column:
        raise CommandError(f"--map {text}: write COLUMN=FIELD.")
    return column, field
