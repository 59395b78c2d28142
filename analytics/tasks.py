"""Celery tasks of analysis: each looks up, calls one service and is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from analytics.browse import summaries
from analytics.overview import figures
from analytics.raters import quality


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def refresh_figures() -> None:
    """Wake a computation for each study whose figures are out of date."""
    for study_id in figures.studies_due():
        refresh_study_figures.delay(study_id)


# A message that waited longer is one of many for the same study.
@shared_task(expires=60)  # type: ignore[untyped-decorator]
def refresh_study_figures(study_id: int) -> None:
    figures.recompute_figures(study_id)


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def refresh_summaries() -> None:
    """Wake a worker for each study whose summaries are behind its data."""
    for study_id in summaries.studies_due():
        refresh_study_summaries.delay(study_id)


@shared_task(expires=60)  # type: ignore[untyped-decorator]
def refresh_study_summaries(study_id: int) -> None:
    summaries.refresh(study_id)


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def refresh_raters() -> None:
    """Wake a worker for each study whose raters have done something, to measure their work and apply its rules."""
    for study_id in quality.studies_due():
        refresh_study_raters.delay(study_id)


@shared_task(expires=60)  # type: ignore[untyped-decorator]
def refresh_study_raters(study_id: int) -> None:
    quality.refresh(study_id)
