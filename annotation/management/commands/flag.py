"""`manage.py flag SLUG`: open review cases for what a study's rules find, or only say what they would find."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotation.management.lookup import study_by_slug
from annotation.models import Study
from annotation.review import flagging
from annotation.review.flag_rules import FlagRules


class Command(BaseCommand):
    help = "Apply a study's flag rules to all of its votes and open review cases. Harmless to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument("--preview", action="store_true", help="say what the rules find, open nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        if options["preview"]:
            found, line = self._preview(study)
        else:
            found, line = self._apply(study)
        self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) if options["json"] else line)

    def _preview(self, study: Study) -> tuple[dict[str, Any], str]:
        counts = flagging.preview_rules(study, FlagRules.of(study.rules))
        rows = [f"{'rule':<16} {'items':>8} {'new':>8}  examples"]
        rows += [
            f"{one.rule:<16} {one.n_items:>8} {one.n_new:>8}  {', '.join(one.examples)}" for one in counts
        ]
        return {"rules": [asdict(one) for one in counts]}, "\n".join(rows)

    def _apply(self, study: Study) -> tuple[dict[str, Any], str]:
        applied = flagging.apply_rules(study, actor=None)
        by_rule = ", ".join(f"{rule} {n}" for rule, n in applied.by_rule.items()) or "nothing new"
        return asdict(applied), f"{applied.n_opened} cases opened ({by_rule})."
