"""Counted judgments: the one definition of which judgments figures and rules rest on, as SQL and as a QuerySet filter.

    standing   `effective` (the last revision, stored while its task still wanted judgments; a surplus judgment is never
               effective) and not an expert's own
    counted    standing and not excluded; `annotation_answer.counted` repeats this for each answer

Most figures look at regular tasks only. The SQL conditions name a judgment `j` and a task `t`.
"""

from __future__ import annotations

from django.db.models import Q

from annotation.models import Judgment, Task

NOT_EXPERT = f"j.origin <> {Judgment.Origin.EXPERT:d}"
STANDING = f"j.effective AND {NOT_EXPERT}"
COUNTED = f"j.effective AND NOT j.excluded AND {NOT_EXPERT}"
REGULAR_TASK = f"t.kind = {Task.Kind.REGULAR:d}"
# Judgments without a rater were imported without a name, so nobody can withdraw them.
NOT_WITHDRAWN = "NOT EXISTS (SELECT FROM annotation_raterwithdrawal w WHERE w.rater_id = j.rater_id)"

IS_COUNTED = Q(effective=True, excluded=False) & ~Q(origin=Judgment.Origin.EXPERT)
