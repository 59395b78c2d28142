"""Comparisons of a scorer's templates, made in the background: with many items they take minutes, and the processes
that answer raters have other things to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import transaction

from analytics.reports.benchmark_results import Spread
from analytics.reports.sensitivity import (
    HumanFigure,
    ItemSpread,
    Sensitivity,
    TemplateScores,
    sensitivity,
)
from analytics.statistics.bootstrap import Estimate
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Failure, Running
from scoring.models import Scorer

KIND = "sensitivity"


@transaction.atomic
def start(study: Study, scorer: Scorer, *, actor: User) -> Job:
    """The comparison that is under way, or a new one."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two clicks ask for one job
    begun = _of(study, scorer).filter(state__in=Job.UNFINISHED).first()
    return begun or jobs.enqueue(KIND, study=study, params={"scorer": scorer.pk}, actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    scorer = Scorer.objects.filter(pk=running.job.params["scorer"]).first()
    if scorer is None or running.job.study is None:
        raise Failure("This scorer is not here any more.")
    return asdict(sensitivity(running.job.study, scorer))


def latest(study: Study, scorer: Scorer) -> tuple[Job | None, Job | None]:
    """The last comparison that was finished, and the newest job of all, which may be under way or have failed."""
    newest = _of(study, scorer).exclude(state=Job.State.CANCELLED)
    return newest.filter(state=Job.State.DONE).first(), newest.first()


def report_of(job: Job) -> Sensitivity:
    stored = job.report
    return Sensitivity(
        **{
            **stored,
            "templates": tuple(TemplateScores(**one) for one in stored["templates"]),
            "widest": tuple(ItemSpread(**one) for one in stored["widest"]),
            "humans": tuple(_human(one) for one in stored["humans"]),
        }
    )


def _of(study: Study, scorer: Scorer) -> Any:
    found = Job.objects.filter(study=study, kind=KIND, params={"scorer": scorer.pk})
    return found.order_by("-created_at", "-pk")


def _human(stored: Mapping[str, Any]) -> HumanFigure:
    spread = stored["spread"]
    return HumanFigure(
        **{
            **stored,
            "by_template": tuple(_estimate(one) for one in stored["by_template"]),
            "spread": None if spread is None else Spread(**spread),
        }
    )


def _estimate(stored: Mapping[str, Any]) -> Estimate:
    interval = stored["interval"]
    return Estimate(**{**stored, "interval": None if interval is None else tuple(interval)})
