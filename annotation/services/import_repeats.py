"""Doing what a trial import has tried, with the same file and options."""

from __future__ import annotations

from pathlib import Path

from annotation.errors import NotFound
from annotation.models import Job, User
from annotation.services import imports

_REPEATED = ("format", "column_map", "overlap", "archive", "skip_bad_rows")


def for_real(trial: Job, *, actor: User | None) -> Job:
    """Raises NotFound where the job is no trial, InvalidInput where its file is not kept any more."""
    if trial.kind != "import" or trial.study is None or not trial.params.get("dry_run"):
        raise NotFound
    params = {name: trial.params[name] for name in _REPEATED}
    return imports.start(trial.study, Path(trial.params["source"]), actor=actor, **params)
