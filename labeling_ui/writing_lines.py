"""Writers and their runs as pages list them: how far a run is, what it cost and what waits to be published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils import timezone

from labeling_ui.pace import pace, time_left
from labeling_ui.run_lines import PATIENCE
from scoring.models import WritingRun
from scoring.services import writing_runs
from scoring.services.runs import Progress


@dataclass(frozen=True)
class WritingLine:
    run: WritingRun
    title: str
    progress: Progress
    pace: str
    left: str
    cost: str
    is_loading: bool
    waits_in_vain: bool


def writing_line(run: WritingRun) -> WritingLine:
    progress = writing_runs.progress(run)
    cost = writing_runs.cost(run)
    return WritingLine(
        run=run,
        title=run.writer.name if run.writer else run.source,
        progress=progress,
        pace=pace(progress.per_second),
        left=time_left(progress.seconds_left),
        cost=f"{cost:,.4f}" if cost else "",
        is_loading=run.n_openings > 0 and not run.is_finished,
        waits_in_vain=_waits_in_vain(run),
    )


def writing_lines(found: Iterable[WritingRun]) -> list[WritingLine]:
    return [writing_line(run) for run in found]


def _waits_in_vain(run: WritingRun) -> bool:
    """A run that nobody has taken up after a while most likely has no worker."""
    waits = run.state == WritingRun.State.QUEUED or (run.publishing and run.is_finished)
    if not waits or run.n_openings:
        return False
    return timezone.now() - (run.worked_at or run.created_at) > PATIENCE
