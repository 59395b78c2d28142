"""Reports of a study's review, made in the background: they read every vote, and opening a page never does."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from analytics.records.moment import one_moment
from analytics.reports.stage3 import stage3
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Failure, Running

KIND = "review_report"


@transaction.atomic
def start(study: Study, *, actor: User) -> Job:
    """The report that is under way, or a new one."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two clicks ask for one job
    begun = _of(study).filter(state__in=Job.UNFINISHED).first()
    return begun or jobs.enqueue(KIND, study=study, params={}, actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    if running.job.study is None:
        raise Failure("This study is not here any more.")
    with one_moment():
        return stage3(running.job.study)


def latest(study: Study) -> tuple[Job | None, Job | None]:
    """The last report that was finished, and the newest job of all, which may be under way or have failed."""
    newest = _of(study).exclude(state=Job.State.CANCELLED)
    return newest.filter(state=Job.State.DONE).first(), newest.first()


def _of(study: Study) -> QuerySet[Job]:
    return Job.objects.filter(study=study, kind=KIND).order_by("-created_at", "-pk")
