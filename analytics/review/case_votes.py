"""Votes and scores on one version of an item, for its reviewer.

Everything an expert must not know before they have judged blind: ask for it only where that is settled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet

from annotation.models import Answer, Candidate, ItemVersion, Judgment, Task, TaskCandidate
from annotation.raters.withdrawal import without_withdrawn
from scoring.models import Score

# Scores shown for one version: the newest of them.
SCORES_READ = 500


@dataclass(frozen=True)
class CaseVote:
    """One effective judgment with its answers, in the order of the protocol's questions."""

    judgment: Judgment
    answers: tuple[Answer, ...]

    @property
    def is_experts(self) -> bool:
        return self.judgment.origin == Judgment.Origin.EXPERT


@dataclass(frozen=True)
class TaskVotes:
    """A task of the version: its candidates by slot, what was said of it (oldest first), and its candidates' scores."""

    task: Task
    candidates: tuple[Candidate, ...]
    votes: tuple[CaseVote, ...]
    scores: tuple[Score, ...]


def votes_on_version(version: ItemVersion, *, first: Task | None = None) -> list[TaskVotes]:
    """Every task of a version by five queries; `first`, the task that the case is about, before the others."""
    tasks = sorted(
        Task.objects.filter(item_version=version).order_by("pk"),
        key=lambda task: (first is None or task.pk != first.pk, task.pk),
    )
    return votes_on_tasks(tasks, about=Judgment.objects.filter(effective=True))


def votes_on_tasks(
    tasks: Sequence[Task], *, about: QuerySet[Judgment], most: int | None = None
) -> list[TaskVotes]:
    """By four queries, in the order given. `about`: the judgments to read; `most`: at most so many over all tasks."""
    slots = _slots(tasks)
    votes = _votes(tasks, about, most)
    scores = _scores({candidate.pk for row in slots.values() for candidate in row})
    return [
        TaskVotes(
            task=task,
            candidates=tuple(slots[task.pk]),
            votes=tuple(votes[task.pk]),
            scores=tuple(_of_task(scores, slots[task.pk])),
        )
        for task in tasks
    ]


def _slots(tasks: Sequence[Task]) -> dict[int, list[Candidate]]:
    rows = TaskCandidate.objects.select_related("candidate__system").filter(task__in=tasks)
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    for row in rows.order_by("task_id", "slot"):
        candidates[row.task_id].append(row.candidate)
    return candidates


def _votes(tasks: Sequence[Task], about: QuerySet[Judgment], most: int | None) -> dict[int, list[CaseVote]]:
    in_order = Answer.objects.select_related("question").order_by("question__position", "pk")
    judgments = (
        without_withdrawn(about.select_related("rater__user", "task"))
        .filter(task__in=tasks)
        .prefetch_related(Prefetch("answers", queryset=in_order))
        .order_by("submitted_at", "pk")[:most]
    )
    votes: dict[int, list[CaseVote]] = defaultdict(list)
    for judgment in judgments:
        votes[judgment.task_id].append(CaseVote(judgment, tuple(judgment.answers.all())))
    return votes


def _scores(candidates: set[int]) -> list[Score]:
    """The newest of each scorer's outputs first, then by what they are of."""
    newest = (
        Score.objects.select_related("scorer").filter(candidate__in=candidates).order_by("-pk")[:SCORES_READ]
    )
    return sorted(newest, key=lambda score: (-score.scorer_id, score.candidate_id, score.output, score.pk))


def _of_task(scores: Sequence[Score], candidates: Sequence[Candidate]) -> list[Score]:
    """Those of the task's candidates; of pairs only where both are in it."""
    here = {candidate.pk for candidate in candidates}
    return [
        score
        for score in scores
        if score.candidate_id in here and (score.other_id is None or score.other_id in here)
    ]
