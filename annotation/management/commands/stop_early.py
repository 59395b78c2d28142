"""`manage.py stop_early SLUG`: ask for one more vote on each undecided pair of a study, as its rule says."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.management.lookup import study_by_slug
from annotation.rating import stopping


class Command(BaseCommand):
    help = (
        "Look at all tasks of a study that stops early: undecided ones that have all their votes get a place for one "
        "more, and places that are not needed any more go, all of them once the rule is switched off. A worker does "
        "this every ten seconds; harmless to repeat."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if "stopping" not in study.rules:
            raise CommandError("This study does not stop early; set a rule on its settings page first.")
        asked = stopping.apply_stopping_rule(study)
        line = f"Votes asked for: {asked.more}. Open places taken away: {asked.fewer}."
        self.stdout.write(json.dumps(asdict(asked)) if options["json"] else line)
