"""Corrections that stand, and the reasons for which the review itself excludes judgments."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Case, Exists, F, OuterRef, Q, Value, When

from annotation.models import Correction, Exclusion, Item, Judgment, Task
from annotation.review.rules import REVIEW_EXCLUSIONS


def holds_correction(version: str = "") -> Exists:
    """Whether an item's version holds a correction that was not undone. `version`: the way to it from what is asked,
    such as `item_version__` from a task."""
    standing = Correction.objects.filter(version_after__retracted=False)
    return Exists(
        standing.filter(
            version_after__item=OuterRef(f"{version}item"),
            version_after__number__lte=OuterRef(f"{version}number"),
        )
    )


_VERSION_PATH = "task__item_version"
# Imports speak of the first versions, also where their task is about a corrected one.
_EXCLUDED_BY_REVIEW = Q(task__state=Task.State.WITHDRAWN) | (
    Q(origin=Judgment.Origin.IMPORTED) & Q(holds_correction(f"{_VERSION_PATH}__"))
)
# An item that was corrected first and withdrawn later went with its tasks of that moment; those before stay as they
# were when it is brought back.
_REASON = Case(
    When(**{f"{_VERSION_PATH}__retracted": True}, then=Value("correction_undone")),
    When(
        **{
            f"{_VERSION_PATH}__item__state": Item.State.WITHDRAWN,
            f"{_VERSION_PATH}__item__current_version": F(_VERSION_PATH),
        },
        then=Value("item_withdrawn"),
    ),
    default=Value("item_corrected"),
)


def review_exclusion_reasons(judgment_ids: Collection[int]) -> dict[int, str]:
    """Of these judgments those that nobody but the review can take back in, each with the review's reason, of
    `review.rules.REVIEW_EXCLUSIONS`. The caller holds the locks of their tasks."""
    judgments = Judgment.objects.filter(_EXCLUDED_BY_REVIEW, pk__in=judgment_ids)
    return dict(judgments.exclude(origin=Judgment.Origin.EXPERT).values_list("pk", _REASON))


def last_excluded_by_review(judgment_ids: Collection[int]) -> set[int]:
    """Of these judgments, all excluded, those whose last mark is the review's."""
    marks = Exclusion.objects.filter(judgment_id__in=judgment_ids).order_by("judgment_id", "-pk")
    last = marks.distinct("judgment_id").values_list("judgment_id", "reason")
    return {judgment_id for judgment_id, reason in last if reason in REVIEW_EXCLUSIONS}
