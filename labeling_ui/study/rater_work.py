"""What one rater judged and skipped, the newest first, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.judgments.readable import ReadableJudgment, readable_judgments
from analytics.judgments.skips import ReadableSkip, skip_page, skips
from annotation.models import Judgment, Rater

JUDGMENTS_PER_PAGE = 20


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
    more = len(page) > JUDGMENTS_PER_PAGE
    page = page[:JUDGMENTS_PER_PAGE]
    skipped, next_skips_before = skip_page(skips().filter(rater=rater), before=skips_before)
    return RaterWork(
        judgments=readable_judgments(page),
        next_before=page[-1].pk if more else None,
        skips=skipped,
        next_skips_before=next_skips_before,
        is_first_page=not (before or skips_before),
    )
