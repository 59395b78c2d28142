"""Skipped tasks in words: who declined which task, for what reason, with what comment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, QuerySet
from django.utils.translation import get_language

from annotation.models import Assignment, Rater, Study
from annotation.protocols.schema import Protocol
from annotation.raters.withdrawal import without_withdrawn
from annotation.studies.protocols import load_protocol

SKIPS_PER_PAGE = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ReadableSkip:
    """`reason` in the words of the protocol under which the task was handed out."""

    assignment: Assignment
    who: str
    reason: str

    @property
    def comment(self) -> str:
        return self.assignment.skip_comment

    @property
    def name(self) -> str:
        """The account behind the pseudonym: for those who run the study."""
        user = self.assignment.rater.user
        return "" if user is None else str(user)


def skips() -> QuerySet[Assignment]:
    """Skipped assignments, without those of raters who have withdrawn."""
    rows = Assignment.objects.filter(state=Assignment.State.SKIPPED)
    return without_withdrawn(rows.select_related("rater__user", "task__item_version__item"))


def skips_of(study: Study) -> QuerySet[Assignment]:
    """Of a study: searched by the raters who have skipped tasks."""
    return skips().filter(rater__in=Rater.objects.filter(study=study, n_skips__gt=0))


def skip_page(rows: QuerySet[Assignment], *, before: int) -> tuple[list[ReadableSkip], int | None]:
    """The newest first, and the `before` of the next page: microseconds since 1970; 0 for the newest."""
    if before:
        rows = rows.filter(closed_at__lt=_EPOCH + timedelta(microseconds=min(before, 10**17)))
    page = list(rows.order_by("-closed_at", "-pk")[: SKIPS_PER_PAGE + 1])
    last = page[SKIPS_PER_PAGE - 1].closed_at if len(page) > SKIPS_PER_PAGE else None
    next_before = None if last is None else (last - _EPOCH) // timedelta(microseconds=1)
    return readable_skips(page[:SKIPS_PER_PAGE]), next_before


def readable_skips(assignments: Iterable[Assignment]) -> list[ReadableSkip]:
    """Of rows from `skips()`: no further query."""
    return [
        ReadableSkip(
            one,
            one.rater.pseudonym,
            skip_titles(load_protocol(one.protocol_version_id).spec).get(one.skip_reason, one.skip_reason),
        )
        for one in assignments
    ]


def skip_titles(protocol: Protocol) -> Mapping[str, str]:
    language = get_language() or "en"
    return {reason.key: reason.title.in_language(language) for reason in protocol.skip_reasons}


def skips_by_reason(study: Study) -> Sequence[tuple[str, int]]:
    """Reason keys with how often each was given, the most frequent first. Looks at skipped assignments alone."""
    raters = Rater.objects.filter(study=study).exclude(state=Rater.State.WITHDRAWN)
    rows = Assignment.objects.filter(rater__in=raters.filter(n_skips__gt=0), state=Assignment.State.SKIPPED)
    counts = rows.values_list("skip_reason").annotate(n=Count("pk")).order_by("-n", "skip_reason")
    return list(counts)
