"""`manage.py plan STUDY` or `manage.py plan --no-study --kind rating`: how many votes are needed, computed now."""

from __future__ import annotations

import json
from argparse import BooleanOptionalAction
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.data.postgres import consistent_snapshot
from analytics.data.questions import scaled_questions
from analytics.planning.pilot import agreement_figures, median_seconds, published_figures, question_pilot
from analytics.planning.rules import (
    RUNS,
    Goal,
    Kind,
    PlanRequest,
    PlanResult,
    RaterHabits,
    plan_study,
    simulate_plan,
)
from analytics.reports.agreement import study_agreement
from analytics.reports.document import Column
from analytics.reports.render.layout import format_value
from analytics.statistics.planning.sample_size import SENTENCES
from annotation.management.lookup import study_by_slug

# Options that are numbers of the plan, by type, with what they mean.
_NUMBERS: dict[str, tuple[type, str]] = {
    "systems": (int, "how many systems"),
    "overlap": (int, "votes on each output or comparison"),
    "votes_per_rater": (int, "votes that one rater gives"),
    "items": (int, "comparisons, for --goal majority"),
    "half_width": (float, "of the interval, for --goal width and alpha; a win rate's as a share"),
    "difference": (float, "of two means, for --goal power"),
    "win_rate": (float, "of the better system, 0 to 1"),
    "accuracy": (float, "of majorities, 0 to 1"),
    "power": (float, "0 to 1"),
    "confidence": (float, "0 to 1"),
    "sd_raters": (float, "standard deviation between raters"),
    "sd_items": (float, "between items"),
    "sd_outputs": (float, "between outputs to an item"),
    "sd_residual": (float, "of the rest"),
    "ties": (float, "share of votes, 0 to 1"),
    "between_items": (float, "correlation of two votes on a comparison"),
    "between_raters": (float, "correlation of two votes of a rater"),
    "alpha": (float, "of the pilot"),
    "alpha_error": (float, "its standard error times the root of its units"),
    "pilot_overlap": (float, "ratings of a unit in the pilot"),
    "seconds": (float, "for one vote"),
}
_FIGURE = Column("", "", "number", 4)
_WIDTH = 4.0  # of a scale from 1 to 5, where no study says another


class Command(BaseCommand):
    help = "Say how many votes a study needs; pilot figures come from its votes, from options, or from publications."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("study", nargs="?", help="the study's address")
        add("--no-study", action="store_true", help="plan without a study")
        add("--question", help="which of the study's questions; the first if not said")
        add("--kind", choices=get_args(Kind), default="rating", help="with --no-study")
        add("--goal", choices=get_args(Goal), default="width")
        add(
            "--panel",
            action=BooleanOptionalAction,
            help="whether a rater meets all systems of an item together",
        )
        for name, (kind, meaning) in _NUMBERS.items():
            add(f"--{name.replace('_', '-')}", type=kind, help=meaning)
        add(
            "--try",
            dest="runs",
            type=int,
            nargs="?",
            const=RUNS,
            help="simulate so many studies with the plan",
        )
        add("--careless", type=float, default=0.0, help="share of synthetic raters, 0 to 1")
        add("--seed", type=int, default=1)
        add("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["study"] is None) != options["no_study"]:
            raise CommandError("Name a study, or say --no-study.")
        start, source = _published(options) if options["no_study"] else _of_study(options)
        stated = {name: options[name] for name in (*_NUMBERS, "panel") if options[name] is not None}
        try:
            result = plan_study(PlanRequest(**{**start, **stated}))
            simulated = _simulated(result, options)
        except (ValueError, ZeroDivisionError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(result, source, simulated), indent=2))
        else:
            self.stdout.write("\n".join(_lines(result, source, simulated)))


def _published(options: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    kind, goal = options["kind"], options["goal"]
    return {"kind": kind, "goal": goal, **published_figures(kind, _WIDTH)}, "published figures"


def _of_study(options: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    study = study_by_slug(options["study"])
    questions = {one.key: one for one in scaled_questions(study)}
    question = questions.get(options["question"] or next(iter(questions), ""))
    if question is None:
        known = ", ".join(questions) or "none with a level of measurement"
        raise CommandError(f"This study has no question {options['question']!r} to plan for; it has {known}.")
    kind: Kind = "preference" if question.is_preference else "rating"
    with consistent_snapshot():
        votes, agreement, seconds = question_pilot(question), study_agreement(study), median_seconds(study)
    stored = next(one.as_json() for one in agreement if one.question.key == question.key)
    own = {**votes["figures"], **agreement_figures(stored)}
    start = {
        "kind": kind,
        "goal": options["goal"],
        "overlap": study.overlap,
        "panel": question.per_candidate,
        "seconds": seconds,
        "level": question.level,
        **({"points": question.points} if len(question.points) > 1 else {}),
        **published_figures(kind, question.width or _WIDTH),
        **own,
    }
    return start, f"{votes['votes']} votes of this study" if own else "published figures"


def _simulated(result: PlanResult, options: Mapping[str, Any]) -> dict[str, Any] | None:
    if options["runs"] is None or result.plan.design is None:
        return None
    habits = RaterHabits(careless=options["careless"])
    return simulate_plan(result.asked, result.plan.design, habits, runs=options["runs"], seed=options["seed"])


def _as_json(result: PlanResult, source: str, simulated: dict[str, Any] | None) -> dict[str, Any]:
    design = result.plan.design
    others = [(other.overlap, other.plan.design) for other in result.alternatives]
    return {
        "asked": result.asked.as_json(),
        "pilot": source,
        "votes": design and design.votes,
        "raters": design and design.raters,
        "hours": result.hours,
        "plan": asdict(result.plan),
        "alternatives": [
            {"overlap": overlap, "items": other and other.items, "votes": other and other.votes}
            for overlap, other in others
        ],
        "majority": asdict(result.majority) if result.majority else None,
        "assumptions": [SENTENCES[code] for code in result.plan.assumptions],
        "simulation": simulated,
    }


def _lines(result: PlanResult, source: str, simulated: dict[str, Any] | None) -> Iterator[str]:
    design, plan = result.plan.design, result.plan
    if design is None:
        yield SENTENCES[plan.reason or "too_many"]
    else:
        each = "comparison" if result.asked.kind == "preference" else "output"
        yield (
            f"About {design.votes:,} votes: {design.outputs:,} {each}s with {design.overlap} votes each, some "
            f"{design.raters:,} raters at {design.votes_per_rater}."
        )
        yield f"Reached: {plan.reached:.4f}" + (f"; {result.hours:.1f} rater-hours" if result.hours else "")
    yield f"Pilot: {source}"
    for other in result.alternatives:
        votes = f"{other.plan.design.votes:,} votes" if other.plan.design else "–"
        yield f"  {other.overlap} on each: {votes}"
    yield from (f"- {SENTENCES[code]}" for code in plan.assumptions)
    if simulated:
        last = simulated["moments"][-1]
        shares = [(name, last[name]) for name in ("found", "better", "ranked") if last[name] is not None]
        listed = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)
        yield f"Of {simulated['runs']} simulated studies: {listed}"
        width, alpha = (format_value(last[name]["mean"], _FIGURE) for name in ("half_width", "alpha"))
        yield f"Half width {width}, alpha {alpha}"
