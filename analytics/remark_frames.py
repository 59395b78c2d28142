"""What judgments say besides their answers: feedback codes and comments, by task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analytics import binary_copy
from analytics.statistics.distinct_rows import IntArray
from annotation.models import Item, Judgment, Study

# Of the judgments that count, those too which give a code and no answer because their rater could not answer.
_REMARKS = f"""
SELECT j.task_id, count(*) FILTER (WHERE cardinality(j.codes) > 0)::int4,
       count(*) FILTER (WHERE j.comment <> '')::int4
FROM annotation_judgment j
WHERE j.study_id = %(study)s AND j.effective AND NOT j.surplus AND NOT j.excluded
  AND j.origin <> {Judgment.Origin.EXPERT:d} AND (cardinality(j.codes) > 0 OR j.comment <> '')
GROUP BY j.task_id ORDER BY j.task_id
"""


@dataclass(frozen=True, eq=False)
class Remarks:
    """Tasks with a code or a comment, ascending; how many judgments of each have a code, and a comment."""

    task: IntArray
    coded: IntArray
    commented: IntArray


def remarks(study: Study) -> Remarks:
    types = {"task": "int8", "coded": "int4", "commented": "int4"}
    found = binary_copy.columns(_REMARKS, types, {"study": study.pk})
    return Remarks(found["task"], found["coded"], found["commented"])


def names_of_items(item_ids: Iterable[int]) -> dict[int, str]:
    """What the study calls its items, by database id."""
    return dict(Item.objects.filter(pk__in=list(item_ids)).values_list("pk", "external_id"))
