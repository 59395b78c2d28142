"""`manage.py rerank FOLDER --scorer NAME`: of the sounds made for one prompt, those that a scorer likes best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.errors import DomainError
from scoring.management import reranking
from scoring.management.scorer_options import add_scorer_options, given_options, sentences


class Command(BaseCommand):
    help = "Choose the best of N candidates for each prompt in a folder, by a scorer."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="with metadata.csv, or a sub-folder for each prompt")
        parser.add_argument("--scorer", default="cmi-rm", help="by which (cmi-rm)")
        add_scorer_options(parser)
        parser.add_argument(
            "--by", action="append", default=[], metavar="OUTPUT", help="only these outputs of the scorer"
        )
        parser.add_argument(
            "--n", action="append", type=int, default=[], metavar="N", help="best of the first N (1, 3, 10)"
        )
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="a .csv or .json file (beside the folder)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            reranking.rerank(
                options["folder"],
                options["scorer"],
                given_options(options),
                by=options["by"],
                ns=options["n"],
                target=options["output"],
                stdout=self.stdout,
                stderr=self.stderr,
            )
        except DomainError as error:
            raise CommandError(sentences(error)) from error
