"""An expert's own judgment of a case, given before anything that others said of it is shown.

It is kept beside the others and counted nowhere: it takes no place of its task's overlap, draws no order of the task's
balance, and moves no counter of task, rater or study.
"""

from __future__ import annotations

from typing import Any

from annotation.models import Assignment, ReviewCase, User
from annotation.services.judgments import Receipt, Submission


def begin(user: User, case_id: int) -> Assignment | None:
    """The assignment by which this expert judges the case blind: made at the first call, the same ever after.

    None where the case has no task. An expert who judged the same task blind before, for an earlier case, is not
    asked again: the case gets that judgment.
    """
    raise NotImplementedError


def brief(user: User, case_id: int) -> dict[str, Any]:
    """What the desk may show before the judgment: the task as a rater would see it (`briefings.brief`).

    Raises Conflict `not_begun` before `begin`.
    """
    raise NotImplementedError


def judge(user: User, case_id: int, submission: Submission) -> Receipt:
    """Store the expert's judgment, by the rules that hold for raters' votes: whole, valid, and heard.

    A replay of the same submission gets the first result, also once the claim is gone; another one a Conflict.
    """
    raise NotImplementedError


def is_done(case: ReviewCase, user: User) -> bool:
    """Whether this expert may see what others said: they judged the case's task blind, or it has none."""
    raise NotImplementedError
