"""What the review keeps out of the count by itself, whatever people think of the raters."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Case, F, Q, Value, When

from annotation.models import Exclusion, Item, Judgment, Task
from annotation.rules.review import EXCLUSIONS
from annotation.services.corrected_texts import holds_correction

_VERSION = "task__item_version"
# Imports speak of the first versions, also where their task is about a corrected one.
_KEPT_OUT = Q(task__state=Task.State.WITHDRAWN) | (
    Q(origin=Judgment.Origin.IMPORTED) & Q(holds_correction(f"{_VERSION}__"))
)
# An item that was corrected first and withdrawn later went with its tasks of that moment; those before stay as they
# were when it is brought back.
_WHY = Case(
    When(**{f"{_VERSION}__retracted": True}, then=Value("correction_undone")),
    When(
        **{
            f"{_VERSION}__item__state": Item.State.WITHDRAWN,
            f"{_VERSION}__item__current_version": F(_VERSION),
        },
        then=Value("item_withdrawn"),
    ),
    default=Value("item_corrected"),
)


def reasons(judgment_ids: Collection[int]) -> dict[int, str]:
    """Of these judgments those that nobody but the review can take back in, each with the review's reason, of
    `rules.review.EXCLUSIONS`. The caller holds the locks of their tasks."""
    judgments = Judgment.objects.filter(_KEPT_OUT, pk__in=judgment_ids)
    return dict(judgments.exclude(origin=Judgment.Origin.EXPERT).values_list("pk", _WHY))


def marked_last(judgment_ids: Collection[int]) -> set[int]:
    """Of these judgments, all excluded, those whose last mark is the review's."""
    marks = Exclusion.objects.filter(judgment_id__in=judgment_ids).order_by("judgment_id", "-pk")
    last = marks.distinct("judgment_id").values_list("judgment_id", "reason")
    return {judgment_id for judgment_id, reason in last if reason in EXCLUSIONS}
