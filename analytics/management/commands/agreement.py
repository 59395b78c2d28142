"""`manage.py agreement SLUG`: how far the raters of a study agree, computed now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.reports.agreement import (
    QuestionAgreement,
    SecondOpinion,
    second_opinion,
    study_agreement,
)
from analytics.reports.reasons import AGREEMENT
from analytics.statistics.agreement.alpha import IntervalSettings
from analytics.statistics.agreement.alpha_intervals import INTERVAL_CAVEATS, IntervalMethod
from analytics.statistics.bootstrap import REPLICATES, Resampling
from annotation.errors import DomainError
from annotation.management.lookup import study_by_slug

# What an option calls the methods: a prompt, or else an item, is what units are clustered by.
_INTERVALS: dict[str, IntervalMethod] = {
    "jackknife": "jackknife",
    "units": "units",
    "items": "clusters",
    "krippendorff": "krippendorff",
}
_COLUMNS = "{:<20} {:<9} {:>7} {:<18} {:>9} {:>9} {:>7} {:>10}"
_HEADER = ("question", "level", "alpha", "95 % interval", "units", "ratings", "raters", "% agree")


class Command(BaseCommand):
    help = "Print Krippendorff's alpha and percent agreement of each question of a study."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's address")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--level", help="nominal, ordinal, interval or ratio, instead of each question's own"
        )
        parser.add_argument(
            "--interval",
            choices=list(_INTERVALS),
            default="jackknife",
            help="how intervals are made: by leaving units out (jackknife), by drawing units anew, by drawing items or "
            "prompts anew with all their units, or as KALPHA does it, which is too narrow and for comparison only",
        )
        parser.add_argument(
            "--replicates", type=int, default=REPLICATES, help="how many times to draw; not for the jackknife"
        )
        parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same")
        parser.add_argument(
            "--verify", action="store_true", help="compute alpha a second time with the krippendorff package"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replicates"] < 1 or options["seed"] < 0:
            raise CommandError("--replicates is 1 or more, and --seed is 0 or more.")
        resampling = Resampling(seed=options["seed"], replicates=options["replicates"])
        interval = IntervalSettings(_INTERVALS[options["interval"]], resampling)
        found = _agreement(options["slug"], level=options["level"], interval=interval)
        opinions = {one.question.key: second_opinion(one) for one in found} if options["verify"] else {}
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(found, opinions), indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found, opinions)))
        if differing := [key for key, opinion in opinions.items() if opinion.differs]:
            raise CommandError(f"The krippendorff package gives another alpha for {', '.join(differing)}.")


def _agreement(slug: str, *, level: str | None, interval: IntervalSettings) -> list[QuestionAgreement]:
    study = study_by_slug(slug)
    try:
        return study_agreement(study, level=level, interval=interval)
    except DomainError as error:
        raise CommandError(error.message) from error


def _as_json(found: list[QuestionAgreement], opinions: Mapping[str, SecondOpinion]) -> dict[str, Any]:
    questions = {one.question.key: one.as_json() for one in found}
    for key, opinion in opinions.items():
        questions[key]["verify"] = opinion.as_json()
    return {"questions": questions}


def _lines(found: list[QuestionAgreement], opinions: Mapping[str, SecondOpinion]) -> Iterator[str]:
    if not found:
        yield "This study asks nothing on a scale of measurement, so there is no agreement to compute."
        return
    yield _COLUMNS.format(*_HEADER)
    if caveat := INTERVAL_CAVEATS.get(found[0].alpha.ci_method):
        yield f"    {caveat}"
    for one in found:
        yield _row(one)
        yield from (f"    {note}" for note in _notes(one))
        if opinion := opinions.get(one.question.key):
            yield f"    krippendorff package: {_opinion(opinion)}"


def _row(one: QuestionAgreement) -> str:
    alpha = one.alpha
    return _COLUMNS.format(
        one.question.key,
        alpha.level,
        _number(alpha.alpha),
        "–" if alpha.ci is None else f"{alpha.ci[0]:.4f} to {alpha.ci[1]:.4f}",
        alpha.units,
        alpha.ratings,
        "unnamed" if one.raters is None else f"{one.raters}{'+' if one.unnamed_raters else ''}",
        "–" if one.percent.pooled_pairs is None else f"{100 * one.percent.pooled_pairs:.1f} %",
    )


def _notes(one: QuestionAgreement) -> Iterator[str]:
    if one.alpha.reason:
        yield AGREEMENT[one.alpha.reason]
    if one.alpha.replicates:
        clusters = f" of {one.alpha.clusters} prompts or items" if one.alpha.clusters is not None else ""
        yield f"Interval from {one.alpha.replicates} draws{clusters}; {one.alpha.degenerate} left alpha undefined."
    if one.off_scale:
        yield f"Left out: {one.off_scale} ratings that are none of the scale's points."
    if one.symmetric is not None:
        yield (
            f"Which candidate is listed first is arbitrary; without that choice alpha is "
            f"{_number(one.symmetric.alpha)} over {one.symmetric.ratings} votes for a side."
        )
    if one.question.other_versions:
        numbers = ", ".join(map(str, one.question.other_versions))
        yield f"Left out: answers on another scale, from protocol version {numbers}."


def _opinion(opinion: SecondOpinion) -> str:
    if opinion.difference is None:
        return f"nothing to compare ({AGREEMENT.get(opinion.reason or '', opinion.reason)})"
    return f"{_number(opinion.alpha)}, difference {opinion.difference:.1e}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
