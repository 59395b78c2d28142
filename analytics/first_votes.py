"""Which answers agreement may rest on where votes on a task stop once they agree: the first ones of each task."""

from __future__ import annotations

from analytics.questions import MeasuredQuestion
from annotation.models import Judgment

# A changed vote keeps the place of the one it changed; a row that nobody changed needs no look at others.
FIRST_SAID = """(CASE WHEN j.revision = 1 OR j.assignment_id IS NULL THEN j.submitted_at ELSE (
        SELECT said.submitted_at FROM annotation_judgment said
        WHERE said.assignment_id = j.assignment_id AND said.revision = 1
    ) END)"""


def among_first(question: MeasuredQuestion) -> str:
    """SQL for answers `a` of %(study)s: a further condition that keeps those of the first votes, or nothing.

    Which tasks get later votes depends on what the first ones said, so all of them together say nothing about how far
    raters agree.
    """
    if question.first_votes is None:
        return ""
    return f"""AND a.judgment_id IN (
        SELECT id FROM (
            SELECT j.id, row_number() OVER (PARTITION BY j.task_id ORDER BY {FIRST_SAID}, j.id) AS place
            FROM annotation_judgment j
            WHERE j.study_id = %(study)s AND j.effective AND NOT j.excluded
              AND j.origin <> {Judgment.Origin.EXPERT:d}
        ) AS ordered WHERE place <= {question.first_votes:d}
    )"""
