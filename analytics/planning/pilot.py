"""Pilot figures of a plan: variances and agreement of the study's own votes, or published ones; and the plan's jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from analytics.data import votes as data_votes
from analytics.data.postgres import consistent_snapshot, fetch_rows
from analytics.data.questions import MeasuredQuestion, scaled_questions
from analytics.overview import figures
from analytics.planning.rules import (
    GOALS,
    MOST_VOTES,
    PILOT_FIELDS,
    Goal,
    Kind,
    PlanRequest,
    RaterHabits,
    plan_request_from_json,
    plan_study,
    simulate_plan,
)
from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.intervals import t_quantile
from analytics.statistics.planning.sample_size import root_n_error
from analytics.statistics.planning.variance_components import PilotComponents, variance_components
from annotation.jobs import jobs
from annotation.jobs.jobs import JobFailed, RunningJob
from annotation.models import Answer, Job, Judgment, Study, User
from annotation.rating import counted

# From the ratings of production quality that come with Audiobox Aesthetics (AES-PAM: 9 systems, 200 prompts, 10 ratings
# of each clip, 0 to 10), as shares of the scale's width. They name no raters: a quarter of the variance among the
# ratings of one clip is taken to be severity.
RATING_SHARES = {"sd_raters": 0.079, "sd_items": 0.035, "sd_outputs": 0.066, "sd_residual": 0.137}
# ORCA: alpha 0.82 (ordinal), its jackknife error times the root of the 2,033 answers with two
# ratings or more, which have 3.03 each.
RATING_AGREEMENT = {"alpha": 0.82, "alpha_error": 0.364, "pilot_overlap": 3.0}
# CMI-Pref: 445 of 644 pairs of votes on a comparison agree, 1,056 votes on 492 comparisons. Ties: FENSE, 2 to 5 %. How
# far one rater's votes on a pair of systems hang together is a guess.
PREFERENCE_SHARES = {"ties": 0.03, "between_items": 0.38, "between_raters": 0.02}
PREFERENCE_AGREEMENT = {"alpha": 0.38, "alpha_error": 0.92, "pilot_overlap": 2.0}

# A longer time means that the rater left the page and came back.
_LONGEST_SECONDS = 1800

_SECONDS = f"""
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.submitted_at - j.started_at))::float8
FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id AND {counted.REGULAR_TASK}
WHERE j.study_id = %(study)s AND j.effective AND NOT j.excluded AND j.origin = {Judgment.Origin.RATED:d}
  AND j.submitted_at - j.started_at BETWEEN interval '1 second' AND interval '{_LONGEST_SECONDS} seconds'
"""


def published_figures(question_kind: str, width: float) -> dict[str, float]:
    """Starting values where there are no votes: names as in `PlanRequest`."""
    if question_kind == "preference":
        return {**PREFERENCE_SHARES, **PREFERENCE_AGREEMENT}
    scaled = {name: float(f"{share * width:.2g}") for name, share in RATING_SHARES.items()}
    return {**scaled, **RATING_AGREEMENT}


def pilot_figures(study: Study) -> dict[str, Any]:
    """Figures of each question's votes, and the seconds of a judgment; reads all votes, so it belongs in a job."""
    questions = {question.key: question_pilot(question) for question in scaled_questions(study)}
    return {"questions": questions, "seconds": median_seconds(study)}


def median_seconds(study: Study) -> float | None:
    """From opening a task to its answer; None where nobody has rated here."""
    [(seconds,)] = fetch_rows(_SECONDS, study=study.pk)
    return None if seconds is None else float(seconds)


def question_pilot(question: MeasuredQuestion) -> dict[str, Any]:
    votes = data_votes.load_votes(question).counted()
    item, first, second = votes.units.item, votes.units.first, votes.units.second
    if question.is_preference:
        return _preferences(votes.value, votes.unit, item, first, second, votes.rater)
    pilot = variance_components(
        votes.value,
        unit=votes.unit,
        system=first[votes.unit] + 1,
        item=item[votes.unit],
        rater=votes.rater,
    )
    variances = vars(pilot.components) if pilot.components else {}
    figures = {f"sd_{name}": math.sqrt(variance) for name, variance in variances.items()}
    return {**_described(pilot), "figures": figures}


def agreement_figures(stored: Mapping[str, Any]) -> dict[str, float]:
    """Alpha and its error from a question's stored agreement; empty where that has no interval."""
    shown = stored.get("symmetric") or stored
    ci, units = shown.get("ci95"), shown.get("pairable_units") or 0
    if shown.get("alpha") is None or ci is None or units < 2:
        return {}
    error = (shown["alpha"] - ci[0]) / t_quantile(0.975, df=units - 1)
    return {
        "alpha": shown["alpha"],
        "alpha_error": root_n_error(error, units=units),
        "pilot_overlap": shown["pairable_ratings"] / units,
    }


def _preferences(
    value: FloatArray, unit: IntArray, item: IntArray, first: IntArray, second: IntArray, rater: IntArray
) -> dict[str, Any]:
    """A vote is 1 for the system that comes first by name, 1/2 for a tie; both bad says nothing of the two."""
    decided = value != Answer.Choice.BOTH_BAD
    unit, rater, value = unit[decided], rater[decided], value[decided]
    one, other = first[unit], second[unit]
    won = np.select([value == Answer.Choice.TIE, value == Answer.Choice.FIRST], [0.5, 1.0], 0.0)
    won = np.where(one <= other, won, 1 - won)
    pair = np.minimum(one, other) * (int(max(first.max(initial=0), second.max(initial=0))) + 2)
    pair = pair + np.maximum(one, other) + 1
    pair -= pair.min(initial=0)
    pilot = variance_components(won, unit=unit, system=pair, item=item[unit], rater=rater)
    figures: dict[str, float] = {}
    if len(won):
        figures["ties"] = float((won == 0.5).mean())
    if pilot.components is not None and pilot.components.total > 0:
        parts = pilot.components
        figures["between_items"] = (parts.items + parts.outputs) / parts.total
        figures["between_raters"] = parts.raters / parts.total
    return {**_described(pilot), "figures": figures}


def _described(pilot: PilotComponents) -> dict[str, Any]:
    counts = {name: getattr(pilot, name) for name in ("votes", "outputs", "systems", "raters")}
    return {**counts, "notes": list(pilot.notes)}


# Jobs: the pilot figures, and the planned study with synthetic raters.

PILOT, SIMULATION = "plan_pilot", "plan_simulation"


def start_pilot(study: Study, *, actor: User) -> Job:
    """Read the votes; the job that is under way, if there is one."""
    return jobs.enqueue_once(PILOT, study=study, params={}, actor=actor)


def start_simulation(study: Study, plan_request: PlanRequest, habits: RaterHabits, *, actor: User) -> Job:
    """Try a plan; the same plan's job that is under way, if there is one."""
    params = {"asked": plan_request.as_json(), "habits": asdict(habits)}
    return jobs.enqueue_once(SIMULATION, study=study, params=params, actor=actor)


def run_pilot(running: RunningJob) -> dict[str, Any]:
    if running.job.study is None:
        raise JobFailed("This study is not here any more.")
    with consistent_snapshot():
        return pilot_figures(running.job.study)


def run_simulation(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    plan_request = plan_request_from_json(running.job.params["asked"])
    design = plan_study(plan_request).plan.design
    if design is None:
        raise JobFailed("There is no design to try: the plan has no answer.")
    if design.votes > MOST_VOTES:
        raise JobFailed(
            f"A simulated pilot has {MOST_VOTES:,} votes at most; this plan has {design.votes:,}."
        )
    return simulate_plan(
        plan_request, design, RaterHabits(**running.job.params["habits"]), progress=running.progress
    )


def latest_pilot(study: Study, kind: str) -> tuple[Job | None, Job | None]:
    """The last job of a kind that was finished, and the newest of all, which may be under way or have failed."""
    return jobs.last_done_and_newest(jobs.newest_jobs(study, kind))


def latest_simulation(study: Study, plan_request: PlanRequest) -> tuple[Job | None, Job | None]:
    """The same of this very plan, with whatever habits of raters."""
    newest = jobs.newest_jobs(study, SIMULATION).filter(params__asked=plan_request.as_json())
    return jobs.last_done_and_newest(newest)


# Starting values: the study's own figures as last computed, or published ones.

_POINTS = 101


@dataclass(frozen=True)
class StartingValues:
    """Where a plan's numbers start. own: whether the study's votes say it; `votes` then describes them."""

    asked: PlanRequest
    own: bool
    votes: Mapping[str, Any]
    computed_at: datetime | None


def kind_of(question: MeasuredQuestion) -> Kind:
    return "preference" if question.is_preference else "rating"


def goal_of(kind: Kind, name: str) -> Goal:
    """The goal of that name, where there is such a one for this kind of question; else the first."""
    return next((goal for goal in GOALS[kind] if goal == name), GOALS[kind][0])


def starting_values(study: Study, question: MeasuredQuestion, goal: Goal) -> StartingValues:
    """By few queries: no vote is read."""
    kind = kind_of(question)
    done, _newest = latest_pilot(study, PILOT)
    report = done.report if done else {"questions": {}, "seconds": None}
    votes = report["questions"].get(question.key, {})
    stored = figures.current_figures(study)
    if goal == "alpha":
        known = agreement_figures(stored.agreement.get(question.key, {}))
        computed_at = stored.computed_at
    else:
        known, computed_at = votes.get("figures", {}), done.finished_at if done else None
    width = question.width or 4.0
    # A continuous scale is put on so many points for synthetic raters.
    continuous = tuple(width * n / (_POINTS - 1) for n in range(_POINTS))
    is_share = goal == "alpha" or kind == "preference"
    numbers = {**published_figures(kind, width), **known}
    plan_request = PlanRequest(
        kind=kind,
        goal=goal,
        overlap=max(study.overlap, 2 if goal == "alpha" else 1),
        systems=max(votes.get("systems", 0) if kind == "rating" else 0, 2),
        panel=question.per_candidate,
        half_width=0.05 if is_share else float(f"{width * 0.05:.2g}"),
        difference=float(f"{width * 0.075:.2g}"),
        seconds=report["seconds"],
        points=question.points if len(question.points) > 1 else continuous,
        level=question.level,
    )
    pilot_numbers: dict[str, Any] = {name: float(numbers[name]) for name in PILOT_FIELDS[kind, goal]}
    start = replace(plan_request, **pilot_numbers)
    return StartingValues(start, bool(known), votes, computed_at if known else None)
