"""`manage.py export SLUG --format F --out DIR`: judgments, items, checks, corrections and cases of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.datasets import exports
from analytics.datasets.formats import EXPORT_FORMATS
from analytics.datasets.judged_tasks import TEXT_VERSIONS
from annotation.errors import DomainError
from annotation.management.lookup import study_by_slug


class Command(BaseCommand):
    help = (
        "Write every judgment, item, listening check, correction and review case of a study to a new folder, with a "
        "manifest."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("slug", help="the study's address")
        add("--format", required=True, help=" or ".join(EXPORT_FORMATS))
        add(
            "--texts",
            default="both",
            help=f"which versions of items to list: {', '.join(TEXT_VERSIONS)} (the default, all of them)",
        )
        add("--out", required=True, type=Path, metavar="DIR", help="a folder that is empty or new")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        try:
            manifest = exports.write_audited_export(
                study, format=options["format"], texts=options["texts"], out=options["out"].absolute()
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(
                f"The export could not be written, and nothing was left behind: {error}"
            ) from error
        counts = manifest["counts"]
        self.stdout.write(
            f"{counts['judgments']} judgments with {counts['answers']} answers and {counts['item_versions']} item "
            f"versions are in {options['out']}."
        )
