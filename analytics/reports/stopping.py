"""What stopping early has saved: the pairs of a study that are decided, and by how many votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection

from annotation.models import Study, Task
from annotation.rules.stopping import Stopping, Votes
from annotation.services import stopping

# Tasks that look alike: their votes, how many judgments they have, and whether that is all they are to get for now.
_PATTERNS = f"""
WITH votes AS ({stopping.VOTES} GROUP BY a.task_id)
SELECT coalesce(votes.first, 0), coalesce(votes.second, 0), coalesce(votes.neither, 0), t.n_judgments,
       t.n_judgments >= t.overlap AS full, count(*)
FROM annotation_task t LEFT JOIN votes ON votes.task_id = t.id
WHERE t.study_id = %(study)s AND t.kind = {Task.Kind.REGULAR:d} AND t.state <> {Task.State.WITHDRAWN:d}
GROUP BY 1, 2, 3, 4, 5
"""


@dataclass(frozen=True)
class Pattern:
    """So many tasks with these votes. `full`: with all the judgments that are asked for now."""

    votes: Votes
    n_judgments: int
    full: bool
    tasks: int


@dataclass(frozen=True)
class StoppedEarly:
    """A study under a rule. Of its `tasks`, those `decided` have their first votes and meet the rule; `undecided` ones
    have the most votes there may be and do not. `saved`: over the decided tasks, the votes that each had left.

    by_votes: how many tasks were decided at how many judgments, ascending.
    """

    question: str
    threshold: float
    most: int
    tasks: int
    decided: int
    undecided: int
    saved: int
    by_votes: tuple[tuple[int, int], ...]

    @property
    def waiting(self) -> int:
        """Tasks that still get votes."""
        return self.tasks - self.decided - self.undecided

    @property
    def share_decided(self) -> float | None:
        return self.decided / self.tasks if self.tasks else None


def stopped_early(study: Study) -> StoppedEarly | None:
    """By one GROUP BY over the study's tasks; None where no rule is in force."""
    rule = stopping.rule_of(study)
    if rule is None:
        return None
    params: dict[str, Any] = {"study": study.pk, "questions": stopping.question_ids(study, rule.question)}
    with connection.cursor() as cursor:
        cursor.execute(_PATTERNS, params)
        return summed(rule, (Pattern(Votes(*row[:3]), *row[3:]) for row in cursor.fetchall()))


def summed(rule: Stopping, patterns: Iterable[Pattern]) -> StoppedEarly:
    by_votes: Counter[int] = Counter()
    tasks = undecided = 0
    for one in patterns:
        tasks += one.tasks
        if one.full and rule.is_met(one.votes):
            by_votes[one.n_judgments] += one.tasks
        elif one.full and one.n_judgments >= rule.most:
            undecided += one.tasks
    return StoppedEarly(
        question=rule.question,
        threshold=rule.threshold,
        most=rule.most,
        tasks=tasks,
        decided=by_votes.total(),
        undecided=undecided,
        saved=sum(n * max(0, rule.most - votes) for votes, n in by_votes.items()),
        by_votes=tuple(sorted(by_votes.items())),
    )


def as_json(found: StoppedEarly | None) -> dict[str, Any]:
    """For the stored overview."""
    return {"stopping": None if found is None else asdict(found)}


def from_json(stored: Mapping[str, Any]) -> StoppedEarly | None:
    found = stored.get("stopping")
    if found is None:
        return None
    return StoppedEarly(**{**found, "by_votes": tuple((votes, n) for votes, n in found["by_votes"])})
