"""`manage.py write STUDY --writer NAME | --file FILE`: have texts written, or bring some, and watch it being done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.errors import DomainError
from annotation.management.lookup import study_by_slug
from annotation.models import Study
from scoring.management.terminal import (
    describe_progress,
    describe_usage,
    error_lines,
    follow_run,
    parse_option_pairs,
    read_prompts,
)
from scoring.models import Writer, WritingRun
from scoring.writing import publishing, results, text_files, writers, writing_runs
from scoring.writing.claims import WRITING
from scoring.writing.text_files import ImportPermissions
from scoring.writing.worker import write_in_foreground
from scoring.writing.writers import WriterSettings


class Command(BaseCommand):
    help = "Have a study's writers write texts and answers, or bring those that were written elsewhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="a study's address")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--writer", metavar="NAME", help="have this writer write what items lack")
        what.add_argument("--file", type=Path, metavar="FILE", help="texts or answers: .csv, .tsv or .jsonl")
        what.add_argument("--add", metavar="NAME", help="set up a writer")
        what.add_argument("--list", action="store_true", help="show the writers there are")
        what.add_argument("--publish", type=int, metavar="RUN", help="publish what a run has written")
        what.add_argument("--cancel", type=int, metavar="RUN", help="stop a run of this study")
        parser.add_argument("--writes", choices=Writer.Writes.values, help="with --add: which kind of text")
        parser.add_argument("--backbone", help="with --add: a hub name, a folder or a server's address#MODEL")
        parser.add_argument("--system", default="", help="with --add: whose answers it writes")
        parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="with --add")
        parser.add_argument("--prompts", type=Path, metavar="FILE.toml", help="with --add: other words")
        parser.add_argument("--per-minute", type=int, help="with --add: the most texts begun in a minute")
        parser.add_argument("--price-in", type=float, help="with --add: of a million tokens read")
        parser.add_argument("--price-out", type=float, help="with --add: of a million tokens written")
        parser.add_argument("--drafts", action="store_true", help="with --add: drafts at the review desk")
        parser.add_argument("--item", action="append", default=[], metavar="ID", help="only for this item")
        parser.add_argument("--anew", action="store_true", help="also where there is a text already")
        parser.add_argument("--judged", action="store_true", help="also for items that people have judged")
        parser.add_argument("--new-systems", action="store_true", help="the file may name new systems")
        parser.add_argument("--look-first", action="store_true", help="publish nothing before --publish")
        parser.add_argument("--cut", action="store_true", help="with --publish: also what was cut off")
        parser.add_argument("--detach", action="store_true", help="leave the work to a worker")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_by_slug(options["study"])
        try:
            self._do(study, options)
        except DomainError as error:
            raise CommandError(error_lines(error)) from error

    def _do(self, study: Study, options: dict[str, Any]) -> None:
        if options["list"]:
            self._list(study)
        elif options["add"]:
            writer = writers.add(study, _writer_settings(options), actor=None)
            self.stdout.write(f"{writer.name} writes {writer.get_writes_display()} by {writer.backbone}.")
        elif options["cancel"] is not None:
            writing_runs.cancel(_run(study, options["cancel"]), actor=None)
            self.stdout.write(f"Run {options['cancel']} is cancelled; what it has written stays.")
        elif options["publish"] is not None:
            run = publishing.publish(_run(study, options["publish"]), cut=options["cut"], actor=None)
            self._follow(run, detach=options["detach"], publishing=True)
        elif options["file"]:
            self._take_in(study, options)
        else:
            run = writing_runs.request(
                _writer(study, options["writer"]),
                filter={"items": options["item"]}, anew=options["anew"], judged=options["judged"],
                publishes=not options["look_first"], actor=None, wake=options["detach"],
            )  # fmt: skip
            self._follow(run, detach=options["detach"])

    def _list(self, study: Study) -> None:
        for writer in Writer.objects.filter(study=study).select_related("system").order_by("name"):
            words = [writer.writes, writer.backbone, *([f"for {writer.system}"] if writer.system else [])]
            words += ["drafts"] * writer.drafts + ["retired"] * writer.retired
            self.stdout.write(f"{writer.name}: {', '.join(words)}")

    def _take_in(self, study: Study, options: dict[str, Any]) -> None:
        if not options["file"].is_file():
            raise CommandError(f"There is no file {options['file']}.")
        imported = text_files.import_texts(
            study,
            options["file"],
            allowing=ImportPermissions(options["anew"], options["judged"], options["new_systems"]),
            publishes=not options["look_first"], actor=None, wake=options["detach"],
        )  # fmt: skip
        self.stdout.write(f"{imported.n_rows} rows; {imported.n_there} of them say what is there already.")
        if imported.run is not None:
            self._follow(imported.run, detach=options["detach"])

    def _follow(self, run: WritingRun, *, detach: bool, publishing: bool = False) -> None:
        """Do it here and tell what came of it. `publishing`: of a run that may well have failed or been cancelled."""
        stop = f"./run manage write {run.study.slug} --cancel {run.pk}"
        if detach:
            self.stdout.write(f"Run {run.pk} waits for a worker. Stop it with {stop}.")
            return
        follow_run(self, WRITING, run, work=write_in_foreground, describe=_describe, how_to_cancel=stop)
        if run.state != WritingRun.State.DONE and not publishing:
            raise CommandError(f"Run {run.pk}: {run.message}")
        self.stdout.write(f"Run {run.pk}: {_describe(run)}")
        if results.n_unpublished(run):
            self.stdout.write(f"Look at them, then: ./run manage write {run.study.slug} --publish {run.pk}")


def _describe(run: WritingRun) -> str:
    usage = describe_usage(run.prompt_tokens, run.completion_tokens, run.cost)
    return ", ".join([describe_progress(run), f"{run.n_published} published", *usage])


def _writer_settings(options: dict[str, Any]) -> WriterSettings:
    if not options["writes"] or not options["backbone"]:
        raise CommandError("Say what it writes and by which model: --writes KIND --backbone MODEL.")
    return WriterSettings(
        name=options["add"], writes=options["writes"], backbone=options["backbone"], system=options["system"],
        options=parse_option_pairs(options["option"]),
        prompt=read_prompts(options["prompts"]) if options["prompts"] else {},
        per_minute=options["per_minute"], price_in=options["price_in"], price_out=options["price_out"],
        drafts=options["drafts"],
    )  # fmt: skip


def _writer(study: Study, name: str) -> Writer:
    writer = Writer.objects.select_related("study", "system").filter(study=study, name=name).first()
    if writer is None:
        names = ", ".join(Writer.objects.filter(study=study, retired=False).values_list("name", flat=True))
        raise CommandError(
            f"{study.slug} has no writer {name!r}; it has {names or 'none: set one up with --add'}."
        )
    return writer


def _run(study: Study, number: int) -> WritingRun:
    run = WritingRun.objects.select_related("study", "writer").filter(study=study, pk=number).first()
    if run is None:
        raise CommandError(f"{study.slug} has no writing run {number}.")
    return run
