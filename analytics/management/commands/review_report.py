"""`manage.py review_report SLUG`: what the review of a study came to, computed now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.data.postgres import consistent_snapshot
from analytics.data.review import COMMENT, REVIEW_PARTS
from analytics.reports.review_report import review_report
from annotation.models import Study

Stored = Mapping[str, Any]

_PART = "  {:<18} {:>8} {:>9} {:>7} {:<18} {:>12} {:>12}"
_PART_HEADER = ("", "answers", "ratings", "alpha", "95 % interval", "variance > t", "of pairable")
_SYSTEM = "  {:<30} {:>8} {:>9} {:>7} {:>7}"
_CODE = "  {:<12} {:>7} {:>8} {:>10}   {:>7} {:>8} {:>10}"


class Command(BaseCommand):
    help = "Print what the ORCA paper reports of its third stage: corrections, codes, agreement before and after."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object, with all that is counted"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study with the address {options['slug']!r}.")
        with consistent_snapshot():
            found = review_report(study)
        if options["json"]:
            self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))


def _lines(found: Stored) -> Iterator[str]:
    yield from _flow(found["flow"])
    yield from _corrections(found["corrections"], found["drafts"])
    yield from _feedback(found["feedback"])
    for question in found["questions"]:
        yield from _question(question)


def _flow(flow: Stored) -> Iterator[str]:
    decisions = ", ".join(f"{n} {decision}" for decision, n in flow["decisions"].items()) or "none decided"
    yield f"Cases: {flow['cases']} ({decisions}); decisions undone: {flow['undone']}"
    for row in flow["rules"]:
        yield f"  {row['rule']}: {row['n']}"
    again = flow["rejudging"]
    yield (
        f"Judged anew: {again['tasks']} tasks on corrected texts, {again['judgments']} judgments, "
        f"{again['wanted']} still wanted"
    )


def _corrections(corrections: Stored, drafts: list[Stored]) -> Iterator[str]:
    yield f"Corrections: {corrections['n']} in {corrections['items']} items; undone: {corrections['undone']}"
    for row in corrections["fields"]:
        origins = ", ".join(f"{n} {origin}" for origin, n in row["origins"].items())
        yield f"  {row['field']}: {row['n']}{f' ({origins})' if origins else ''}"
    for row in drafts:
        name = f"drafts of {row['field']} by {row['writer']}"
        yield f"  {name}: {_percent(row['share'])} of {row['settled']} settled accepted unedited"


def _feedback(feedback: Stored) -> Iterator[str]:
    yield "Feedback before the review, and now, by items, answers and judgments"
    for row in feedback["codes"]:
        name = "comment" if row["code"] == COMMENT else row["code"]
        yield _CODE.format(name, *row["before"].values(), *row["after"].values())
    of = feedback["of"]
    yield _CODE.format("any", *of["marked_before"].values(), *of["marked_after"].values())
    yield _CODE.format("judged", *of["before"].values(), *of["after"].values())


def _question(question: Stored) -> Iterator[str]:
    yield f"{question['key']} ({question['level']})"
    yield _PART.format(*_PART_HEADER)
    for part in REVIEW_PARTS:
        row = question["parts"][part]
        yield _PART.format(
            part, row["units"], row["ratings"], _number(row["alpha"]), _interval(row), *_shares(row)
        )
    for label, before, after in question["histogram"]:
        yield f"  {label}: {before} before, {after} now"
    if question["systems"]:
        yield _SYSTEM.format("system", "answers", "ratings", "mean", "words")
    for row in question["systems"]:
        yield _SYSTEM.format(
            row["system"][:30],
            row["answers"],
            row["ratings"],
            _number(row["mean"], 2),
            _number(row["words"], 1),
        )
    blind = question["blind"]
    if blind["answers"]:
        yield (
            f"  blind: {blind['answers']} answers of experts; the same as the raters' majority in {blind['agreed']} of "
            f"{blind['with_majority']}"
        )


def _shares(row: Stored) -> tuple[str, str]:
    """By the unbiased variance; the other readings are in the JSON."""
    variance = row["variance"]
    if variance is None:
        return "–", "–"
    above = variance["unbiased_above"]
    bases = (variance["units"], variance["pairable_units"])
    shares = [_percent(above / of if of else None) for of in bases]
    return shares[0], shares[1]


def _interval(row: Stored) -> str:
    return "–" if row["ci95"] is None else f"{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _number(value: float | None, places: int = 4) -> str:
    return "–" if value is None else f"{value:.{places}f}"
