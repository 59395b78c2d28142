"""Plans' background work: what the study's votes say of its variances, and the planned study with synthetic raters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from analytics.records.moment import one_moment
from analytics.reports.plan import Asked, answer, asked_from_json
from analytics.reports.plan_pilot import pilot_figures
from analytics.reports.plan_simulation import MOST_VOTES, Habits, simulate
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Failure, Running

PILOT, SIMULATION = "plan_pilot", "plan_simulation"


def start_pilot(study: Study, *, actor: User) -> Job:
    """Read the votes; the job that is under way, if there is one."""
    return _start(PILOT, study, {}, actor=actor)


def start_simulation(study: Study, asked: Asked, habits: Habits, *, actor: User) -> Job:
    """Try a plan; the same plan's job that is under way, if there is one."""
    return _start(SIMULATION, study, {"asked": asked.as_json(), "habits": asdict(habits)}, actor=actor)


def run_pilot(running: Running) -> dict[str, Any]:
    if running.job.study is None:
        raise Failure("This study is not here any more.")
    with one_moment():
        return pilot_figures(running.job.study)


def run_simulation(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    asked = asked_from_json(running.job.params["asked"])
    design = answer(asked).plan.design
    if design is None:
        raise Failure("There is no design to try: the plan has no answer.")
    if design.votes > MOST_VOTES:
        raise Failure(f"A simulated pilot has {MOST_VOTES:,} votes at most; this plan has {design.votes:,}.")
    return simulate(asked, design, Habits(**running.job.params["habits"]), progress=running.progress)


def latest(study: Study, kind: str) -> tuple[Job | None, Job | None]:
    """The last job of a kind that was finished, and the newest of all, which may be under way or have failed."""
    return _last_two(_of(study, kind))


def latest_simulation(study: Study, asked: Asked) -> tuple[Job | None, Job | None]:
    """The same of this very plan, with whatever habits of raters."""
    return _last_two(_of(study, SIMULATION).filter(params__asked=asked.as_json()))


def _last_two(found: QuerySet[Job]) -> tuple[Job | None, Job | None]:
    newest = found.exclude(state=Job.State.CANCELLED)
    return newest.filter(state=Job.State.DONE).first(), newest.first()


@transaction.atomic
def _start(kind: str, study: Study, params: dict[str, Any], *, actor: User) -> Job:
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two clicks ask for one job
    begun = _of(study, kind).filter(state__in=Job.UNFINISHED, params=params).first()
    return begun or jobs.enqueue(kind, study=study, params=params, actor=actor)


def _of(study: Study, kind: str) -> QuerySet[Job]:
    return Job.objects.filter(study=study, kind=kind).order_by("-created_at", "-pk")
