"""`manage.py withdraw_rater SLUG PSEUDONYM --mode removed|anonymised`: take a person out of a study, for good."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.errors import DomainError
from annotation.jobs import jobs
from annotation.models import Job, Rater, RaterWithdrawal
from annotation.raters import withdrawal


class Command(BaseCommand):
    help = (
        "Take a person out of a study at their wish: no figure, export or release from now on has what they said "
        "(removed), or has it without name, words, times or listening log and uncounted (anonymised). There is no way "
        "back."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument("pseudonym", help="the rater, as the study's pages name them")
        parser.add_argument("--mode", choices=RaterWithdrawal.Mode.values, default="removed")
        parser.add_argument("--note", default="", help="for the record: how the person asked for it")
        parser.add_argument("--yes", action="store_true", help="do not ask first")

    def handle(self, *args: Any, **options: Any) -> None:
        raters = Rater.objects.filter(study__slug=options["slug"], pseudonym=options["pseudonym"])
        rater = raters.first()
        if rater is None:
            raise CommandError(f"There is no rater {options['pseudonym']!r} in a study {options['slug']!r}.")
        question = f"Take {rater} out of {options['slug']} for good ({options['mode']})? [y/N] "
        if not options["yes"] and not _agreed(question):
            raise CommandError("Nothing was changed.")
        try:
            _withdrawal, job = withdrawal.withdraw(
                rater, mode=options["mode"], note=options["note"], actor=None
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        jobs.run_inline(job)
        if job.state != Job.State.DONE:
            raise CommandError(f"{rater} is withdrawn, but excluding their judgments failed: {job.message}")
        self.stdout.write(f"{rater} is withdrawn; {job.report['judgments']} judgments left the figures.")


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError as error:
        raise CommandError(
            "Nobody is there to answer, and nothing was changed. Add --yes to go ahead."
        ) from error
