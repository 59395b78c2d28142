"""Skipped tasks in words: who declined which task, for what reason, with what comment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.utils.translation import get_language

from annotation.models import Assignment, Rater, Study
from annotation.protocols.schema import Protocol
from annotation.raters.withdrawal import without_withdrawn
from annotation.studies.protocols import load_protocol


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
