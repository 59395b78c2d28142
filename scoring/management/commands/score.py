"""`manage.py score STUDY --scorer NAME`: score a study, or a file, and watch it being done."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.errors import DomainError
from annotation.models import Study
from scoring.files.source import FORMATS
from scoring.management import file_scores
from scoring.management.progress import ProgressLine, describe, telling
from scoring.management.scorer_options import add_scorer_options, given_options, sentences
from scoring.metrics import registry
from scoring.models import ScoringRun
from scoring.services import faults, runs
from scoring.services.foreground import run_here


class Command(BaseCommand):
    help = "Score a study's candidates, or the rows of a file, by a model."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", nargs="?", help="a study's address, or a .csv, .tsv or .jsonl file")
        parser.add_argument(
            "--list", action="store_true", help="show the scorers there are and their options"
        )
        parser.add_argument("--scorer", help="which of them, e.g. aqascore")
        add_scorer_options(parser)
        parser.add_argument(
            "--system", action="append", default=[], metavar="NAME", help="only candidates of this system"
        )
        parser.add_argument("--again", action="store_true", help="also what this version has scored already")
        parser.add_argument("--detach", action="store_true", help="leave the work to a worker")
        parser.add_argument("--cancel", type=int, metavar="RUN", help="stop a run of this study")
        parser.add_argument("--output", type=Path, metavar="FILE", help="where a file's scores go")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self._list()
            return
        if not options["study"]:
            raise CommandError("Name a study or a file; --list shows the scorers.")
        try:
            if options["cancel"] is not None:
                self._cancel(_study(options["study"]), options["cancel"])
                return
            if not options["scorer"]:
                raise CommandError(f"Say which scorer: --scorer {' or '.join(sorted(registry.METRICS))}.")
            if (source := Path(options["study"])).suffix in FORMATS:
                self._score_file(source, options)
            else:
                self._score_study(_study(options["study"]), options)
        except DomainError as error:
            raise CommandError(sentences(error)) from error

    def _list(self) -> None:
        for name in sorted(registry.METRICS):
            entry = registry.METRICS[name]
            self.stdout.write(f"{name} — {entry.title}: {entry.summary}")
            for option in entry.options:
                default = "required" if option.required else f"default {option.default!r}"
                choices = f" ({', '.join(option.choices)})" if option.choices else ""
                self.stdout.write(f"    {option.name}{choices}, {default}: {option.help}")

    def _score_file(self, source: Path, options: dict[str, Any]) -> None:
        if options["system"] or options["again"] or options["detach"]:
            raise CommandError(
                "--system, --again and --detach are for studies; a file is scored here and now."
            )
        file_scores.score(
            source,
            options["scorer"],
            given_options(options),
            target=options["output"],
            stdout=self.stdout,
            stderr=self.stderr,
        )

    def _score_study(self, study: Study, options: dict[str, Any]) -> None:
        if options["output"]:
            raise CommandError("--output is for files; a study's scores are kept in the study.")
        run = runs.request(
            study,
            options["scorer"],
            given_options(options),
            filter={"systems": options["system"]},
            again=options["again"],
            actor=None,
            wake=options["detach"],
        )
        if options["detach"]:
            self.stdout.write(f"Run {run.pk} waits for a worker. Stop it with {_how_to_cancel(run)}.")
            return
        self._follow(run)

    def _follow(self, run: ScoringRun) -> None:
        try:
            with ProgressLine(telling(run), self.stderr, shown=sys.stderr.isatty()):
                run_here(run)
        except KeyboardInterrupt:
            raise CommandError(
                f"Stopped here; a worker goes on with run {run.pk}. To end it: {_how_to_cancel(run)}.",
                returncode=130,
            ) from None
        for found in faults.counted(run):
            n = f"{found.n}{'+' if found.at_least else ''}"
            self.stderr.write(f"{n:>8} × {found.code}: {found.reason} (first: {found.item}, {found.system})")
        if run.state != ScoringRun.State.DONE:
            raise CommandError(f"Run {run.pk}: {run.message}")
        self.stdout.write(f"Run {run.pk} with {run.scorer}: {describe(run)}")

    def _cancel(self, study: Study, number: int) -> None:
        run = ScoringRun.objects.select_related("study").filter(study=study, pk=number).first()
        if run is None:
            raise CommandError(f"{study.slug} has no run {number}.")
        runs.cancel(run, actor=None)
        self.stdout.write(f"Run {number} is cancelled; what it has scored stays.")


def _study(slug: str) -> Study:
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study with the address {slug!r}, and no file of that name either.")
    return study


def _how_to_cancel(run: ScoringRun) -> str:
    return f"./run manage score {run.study.slug} --cancel {run.pk}"
