"""`manage.py report SLUG --out report.html`: the report of a study, made now, as the study's page makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.data.postgres import consistent_snapshot
from analytics.reports.document import Document, document_from_json, document_json
from analytics.reports.render.files import tables_and_figures
from analytics.reports.render.html import render_standalone
from analytics.reports.study_report import INTERVALS, STEPS, report_settings, study_report
from analytics.statistics.bootstrap import REPLICATES
from annotation.errors import DomainError
from annotation.management.lookup import study_by_slug
from annotation.models import Study


class Command(BaseCommand):
    help = "Write the report of a study: one HTML file, and its tables and figures as files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument("--out", required=True, type=Path, help="the HTML file to write")
        parser.add_argument(
            "--interval", default="jackknife", help=f"of Krippendorff's alpha: {', '.join(INTERVALS)}"
        )
        parser.add_argument("--replicates", type=int, default=REPLICATES, help="of every bootstrap")
        parser.add_argument("--seed", type=int, default=0, help="of every bootstrap")
        parser.add_argument("--language", default="en", help="en or zh-hans")
        parser.add_argument(
            "--tables", type=Path, help="a folder for every table as CSV and LaTeX and every figure as SVG"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        try:
            made = self._made(study, options)
        except DomainError as error:
            raise CommandError(error.message) from error
        try:
            _write(made, options["out"], options["tables"])
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be written: {error.strerror}.") from error

    def _made(self, study: Study, options: dict[str, Any]) -> Document:
        asked = {name: options[name] for name in ("interval", "replicates", "seed", "language")}
        settings = report_settings(asked)
        with consistent_snapshot():
            found = study_report(study, settings, language=asked["language"], progress=self._progress)
        # As the page reads it from its job: the same bytes.
        return document_from_json(document_json(found))

    def _progress(self, done: int) -> None:
        self.stderr.write(f"{done} of {len(STEPS)}: {STEPS[done - 1]}")


def _write(document: Document, out: Path, tables: Path | None) -> None:
    _save(out, render_standalone(document))
    if tables is not None:
        tables.mkdir(parents=True, exist_ok=True)
        for name, text in tables_and_figures(document).items():
            _save(tables / name, text)


def _save(path: Path, text: str) -> None:
    """As bytes: no system's own line ends."""
    path.write_bytes(text.encode())
