"""A study's jobs, page by page, the newest first."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Job, Study


@dataclass(frozen=True)
class JobPage:
    """`next_after` goes into the next call's `after`; None on the last page."""

    rows: tuple[Job, ...]
    next_after: uuid.UUID | None


def page(
    study: Study, *, kind: str = "", state: str = "", after: uuid.UUID | None = None, limit: int
) -> JobPage:
    """`after`: the last job of the page before. Raises InvalidInput where there is no such job.

    Reports stay where they are: each may hold a thousand problems.
    """
    jobs = Job.objects.filter(study=study).select_related("study").defer("report")
    if kind:
        jobs = jobs.filter(kind=kind)
    if state:
        jobs = jobs.filter(state=state)
    if after is not None:
        last = Job.objects.filter(study=study, pk=after).values_list("created_at", flat=True).first()
        if last is None:
            problem = FieldProblem("after", "There is no such job; begin with the first page.")
            raise InvalidInput("This page is not there.", problems=[problem])
        jobs = jobs.filter(Q(created_at__lt=last) | Q(created_at=last, pk__lt=after), created_at__lte=last)
    found = list(jobs.order_by("-created_at", "-pk")[: limit + 1])
    return JobPage(tuple(found[:limit]), found[limit - 1].pk if len(found) > limit else None)


def path_of(path: str, page: JobPage, wanted: Mapping[str, Any]) -> str | None:
    """Of the next page, which asks for the same; None on the last."""
    return None if page.next_after is None else f"{path}?{urlencode({**wanted, 'after': page.next_after})}"
