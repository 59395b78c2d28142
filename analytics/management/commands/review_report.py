"""`manage.py review_report SLUG`: what the review of a study came to, computed now."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from analytics.data.postgres import consistent_snapshot
from analytics.reports.render.text import document_text
from analytics.reports.review_document import review_document
from analytics.reports.review_report import review_report
from annotation.management.lookup import study_by_slug
from annotation.studies.protocols import load_protocol


class Command(BaseCommand):
    help = "Print what the ORCA paper reports of its third stage: corrections, codes, agreement before and after."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object, with all that is counted"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_by_slug(options["slug"])
        with consistent_snapshot():
            report = review_report(study)
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
        else:
            protocol = load_protocol(study.protocol_version_id).spec
            title = f"Report of the review: {study.title}"
            self.stdout.write(document_text(review_document(report, protocol, title=title, language="en")))
