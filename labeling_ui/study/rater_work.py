"""What one rater judged and skipped, the newest first, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from analytics.judgments.readable import ReadableJudgment, readable_judgments
from analytics.judgments.skips import ReadableSkip, readable_skips, skips
from annotation.models import Judgment, Rater

JUDGMENTS_PER_PAGE = 20
SKIPS_PER_PAGE = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class RaterWork:
    """`next_before` and `next_skips_before`: where the next page begins; None on the last."""

    judgments: list[ReadableJudgment]
    next_before: int | None
    skips: list[ReadableSkip]
    next_skips_before: int | None
    is_first_page: bool


def rater_work(rater: Rater, *, before: int, skips_before: int) -> RaterWork:
    """Keyset pages: `before` is a judgment's id, `skips_before` microseconds since 1970; 0 for the newest. Nothing of a
    rater who has withdrawn."""
    if rater.state == Rater.State.WITHDRAWN:
        return RaterWork([], None, [], None, True)
    judgments = Judgment.objects.filter(rater=rater).select_related("rater__user", "task__item_version__item")
    if before:
        judgments = judgments.filter(pk__lt=before)
    page = list(judgments.order_by("-pk")[: JUDGMENTS_PER_PAGE + 1])
    skipped = skips().filter(rater=rater)
    if skips_before:
        skipped = skipped.filter(closed_at__lt=_EPOCH + timedelta(microseconds=min(skips_before, 10**17)))
    skip_page = list(skipped.order_by("-closed_at")[: SKIPS_PER_PAGE + 1])
    more, more_skips = len(page) > JUDGMENTS_PER_PAGE, len(skip_page) > SKIPS_PER_PAGE
    page, skip_page = page[:JUDGMENTS_PER_PAGE], skip_page[:SKIPS_PER_PAGE]
    return RaterWork(
        judgments=readable_judgments(page),
        next_before=page[-1].pk if more else None,
        skips=readable_skips(skip_page),
        next_skips_before=_microseconds(skip_page[-1].closed_at) if more_skips else None,
        is_first_page=not (before or skips_before),
    )


def _microseconds(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // timedelta(microseconds=1)
