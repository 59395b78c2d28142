"""Reports of a study, made in the background: they read every vote, and opening a page never does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import QuerySet

from analytics.records.moment import one_moment
from analytics.renderings.document_json import as_json, from_json
from analytics.reports.document import Document
from analytics.reports.paper.assembly import report
from analytics.reports.paper.material import Interval, ReportSettings
from analytics.reports.paper.steps import STEPS
from analytics.services.heartbeat import Heartbeat
from analytics.statistics.bootstrap import REPLICATES, Resampling
from annotation.errors import InvalidInput
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Failure, Running

KIND = "report"
INTERVALS: tuple[str, ...] = get_args(Interval)
MOST_REPLICATES, MOST_SEED = 20_000, 2**31 - 1


@transaction.atomic
def start(
    study: Study,
    *,
    actor: User,
    interval: str = "jackknife",
    replicates: int = REPLICATES,
    seed: int = 0,
    language: str = "en",
) -> Job:
    """The report that is under way, or a new one. Raises InvalidInput that names the setting and what to give."""
    params = {"interval": interval, "replicates": replicates, "seed": seed, "language": language}
    settings_of(params)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two clicks ask for one job
    begun = _of(study).filter(state__in=Job.UNFINISHED).first()
    return begun or jobs.enqueue(KIND, study=study, params=params, actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    study, params = running.job.study, running.job.params
    if study is None:
        raise Failure("This study is not here any more.")
    with Heartbeat(running, total=len(STEPS)) as progress, one_moment():
        study.refresh_from_db()
        return as_json(report(study, settings_of(params), language=params["language"], progress=progress))


def newest(study: Study) -> Job | None:
    """The newest job, which may be under way or have failed; without its document, which pages read apart."""
    return _of(study).exclude(state=Job.State.CANCELLED).defer("report").first()


def last_made(study: Study) -> Job | None:
    """The last report that was finished."""
    return _of(study).filter(state=Job.State.DONE).first()


def document_of(job: Job) -> Document:
    return from_json(job.report)


def settings_of(params: Mapping[str, Any]) -> ReportSettings:
    """Raises InvalidInput for what no report can be made with."""
    if params["interval"] not in INTERVALS:
        raise _refused(
            "interval", f"{params['interval']!r} is no interval of alpha; use {_listed(INTERVALS)}."
        )
    if not 1 <= params["replicates"] <= MOST_REPLICATES:
        raise _refused("replicates", f"Give a whole number of replicates from 1 to {MOST_REPLICATES}.")
    if not 0 <= params["seed"] <= MOST_SEED:
        raise _refused("seed", f"Give a whole number from 0 to {MOST_SEED} as the seed.")
    languages = [code for code, _name in django_settings.LANGUAGES]
    if params["language"] not in languages:
        raise _refused(
            "language", f"There are no reports in {params['language']!r}; use {_listed(languages)}."
        )
    return ReportSettings(
        params["interval"], Resampling(seed=params["seed"], replicates=params["replicates"])
    )


def _refused(name: str, sentence: str) -> InvalidInput:
    return InvalidInput(sentence, code=f"bad_{name}")


def _listed(values: Any) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}"


def _of(study: Study) -> QuerySet[Job]:
    return Job.objects.filter(study=study, kind=KIND).order_by("-created_at", "-pk")
