"""Background work of analysis: look up, call one service."""

from __future__ import annotations

from celery import shared_task

from analytics.services import figures

# A message that waited longer than this is one of many for the same study.
_EXPIRES_SECONDS = 60


@shared_task  # type: ignore[untyped-decorator]
def refresh_figures() -> None:
    """Every few seconds by beat: wake a computation for each study whose figures are out of date."""
    for study_id in figures.due():
        refresh_study_figures.apply_async([study_id], expires=_EXPIRES_SECONDS)


@shared_task  # type: ignore[untyped-decorator]
def refresh_study_figures(study_id: int) -> None:
    figures.refresh(study_id)
