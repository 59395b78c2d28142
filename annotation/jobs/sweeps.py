"""High-water marks of sweeps: each looks at the rows that are new since the last one, and misses no late commit.

Ids are given out before they are committed: a vote with a lower id may come into sight after one with a higher. So a
sweep counts what is below the highest id in sight as seen only once it has looked after every transaction had ended
that was open when that id came into sight (`SweepMark`). Until then it looks at the newest rows again; looking twice
must find nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from annotation.models import Study
from annotation.models.job import Mark, SweepMark


@dataclass(frozen=True)
class SweepSource:
    """Rows that a sweep rests on: `highest` selects the highest id in sight, `changed` the ids of what rows after
    %(low)s are about, both of %(study)s. One that only a flag `rule` rests on is asked only where that is in force."""

    highest: str
    changed: str
    rule: str = ""


def changed_ids(study: Study, sources: Mapping[str, SweepSource], seen: Mapping[str, int]) -> set[int]:
    """The ids of what new rows are about."""
    return {row[0] for row in changed_rows(study, sources, seen)}


def changed_rows(
    study: Study, sources: Mapping[str, SweepSource], seen: Mapping[str, int]
) -> Iterator[tuple[Any, ...]]:
    """What the sources select: the id of what new rows are about, and whatever else."""
    with connection.cursor() as cursor:
        for name, source in sources.items():
            cursor.execute(source.changed, {"study": study.pk, "low": seen.get(name, 0)})
            yield from cursor.fetchall()


# By source, the highest id in sight; and by the same snapshot the oldest transaction still open, and the next one.
VisibleHeads = tuple[dict[str, int], int, int]


def visible_heads(study: Study, highest: Mapping[str, str]) -> VisibleHeads:
    """`highest` selects the highest id of each source, of %(study)s."""
    heads = ", ".join(f"coalesce(({select}), 0)" for select in highest.values())
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,"
            f" {heads} FROM pg_current_snapshot() s",
            {"study": study.pk},
        )
        oldest_open, next_to_open, *highest_ids = cursor.fetchone()
    return dict(zip(highest, highest_ids, strict=True)), oldest_open, next_to_open


def store_mark(mark: SweepMark, heads_in_sight: VisibleHeads) -> None:
    """Store how far has been looked at, now that everything in sight after `mark.seen` was.

    A mark that was taken away meanwhile stays away: then there is a reason to look at everything again.
    """
    moved = {**advance_mark(mark, heads_in_sight), "swept_at": timezone.now()}
    type(mark)._default_manager.filter(study_id=mark.study_id).update(**moved)


def advance_mark(mark: Mark, heads_in_sight: VisibleHeads) -> dict[str, Any]:
    """Move a mark as far as is safe; its fields."""
    heads, oldest_open, next_to_open = heads_in_sight
    if oldest_open == next_to_open:  # nobody is at anything: what is in sight is all there is
        mark.seen, mark.ahead, mark.ahead_until = heads, heads, next_to_open
    elif oldest_open >= mark.ahead_until:
        mark.seen, mark.ahead, mark.ahead_until = mark.ahead, heads, next_to_open
    return {"seen": mark.seen, "ahead": mark.ahead, "ahead_until": mark.ahead_until}
