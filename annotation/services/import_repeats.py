"""Doing what a trial import has tried, with the same file and options."""

from __future__ import annotations

from pathlib import Path

from annotation.errors import NotFound
from annotation.models import Job, User
from annotation.services import imports
from annotation.services.import_orders import Order


def for_real(trial: Job, *, actor: User) -> Job:
    """Raises NotFound where the job is no trial, or one for a study that somebody else would make; InvalidInput where
    its file is not kept any more; Conflict where the study is written to, or where its address was taken since."""
    if trial.kind != "import" or not trial.params.get("dry_run"):
        raise NotFound
    if trial.study is None and trial.created_by_id != actor.pk:
        raise NotFound
    order = Order.from_params(trial.params)
    return imports.start(
        trial.study,
        Path(order.source),
        format=order.format,
        actor=actor,
        column_map=order.column_map,
        overlap=order.overlap,
        archive=order.archive,
        skip_bad_rows=order.skip_bad_rows,
        new_study=order.new_study,
    )
