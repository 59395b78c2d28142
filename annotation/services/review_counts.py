"""How much review there is to do, for whoever lands on the list of their studies."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db import connection
from django.db.models import Count

from annotation.models import Rater, Return
from annotation.services.case_queue import COUNTED_TO

_OPEN = """
SELECT s, (SELECT count(*) FROM (
    SELECT 1 FROM annotation_reviewcase WHERE study_id = s AND state = 'open' LIMIT %s) few)
FROM unnest(%s::bigint[]) s
"""


def open_cases(studies: Collection[int]) -> dict[int, int]:
    """By study, how many cases are open; counted up to `COUNTED_TO`."""
    if not studies:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [COUNTED_TO, list(studies)])
        return dict(cursor.fetchall())


def returned_to(raters: Iterable[Rater]) -> dict[int, int]:
    """By study, how many answers an expert has asked these raters to look at again."""
    mine = [rater.pk for rater in raters]
    if not mine:
        return {}
    waiting = Return.objects.filter(rater__in=mine, state=Return.State.WAITING)
    return dict(waiting.values_list("rater__study_id").annotate(Count("pk")))
