"""The door from stored votes to what a model had said of each task, and whether the voter was shown it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.db.models import Count

from analytics.data import postgres
from analytics.data.postgres import BoolArray
from analytics.data.votes import Votes
from analytics.statistics.arrays import FloatArray, IntArray
from annotation.models import Assignment, Judgment, Study

# The share that was not shown, as the assignment keeps it, and the version that spoke: under one of both, a coin that
# stayed the same decided.
_STRATUM = "dense_rank() OVER (ORDER BY a.hint ->> 'scorer', a.hint ->> 'withheld')"
# Of a question asked of each candidate, a row per candidate that the model said something of.
_HINTS = f"""
SELECT j.id, {{candidate}}, (a.hint #>> {{answer}})::float8, a.hint_shown::int::int2, {_STRATUM}
FROM annotation_judgment j JOIN annotation_assignment a ON a.id = j.assignment_id {{joined}}
WHERE j.study_id = %(study)s AND a.hint_shown IS NOT NULL AND a.hint #>> {{answer}} IS NOT NULL
"""
_WHOLE = _HINTS.format(candidate="0::int8", answer="ARRAY['answers', %(key)s]", joined="")
_EACH = _HINTS.format(
    candidate="k.candidate_id",
    answer="ARRAY['answers', %(key)s, k.slot::text]",
    joined="JOIN annotation_taskcandidate k ON k.task_id = j.task_id",
)
_TYPES = {"judgment": "int8", "candidate": "int8", "predicted": "float8", "shown": "int2", "stratum": "int8"}


@dataclass(frozen=True, eq=False)
class HintedVotes:
    """Votes on tasks with a model's prediction. predicted: of a preference, the chance that it gives to the first of
    the unit's candidates; of a rating, the rating it expects. shown: whether the voter saw it.
    stratum: a number for the version that said it and the share not shown at that time."""

    votes: Votes
    predicted: FloatArray
    shown: BoolArray
    stratum: IntArray


@dataclass(frozen=True)
class HintCounts:
    """Judgments by whether the rater saw what the model said. scorers: the versions that said it."""

    shown: int
    withheld: int
    scorers: tuple[str, ...]


def hinted_votes(votes: Votes) -> HintedVotes:
    """Of these votes, those on tasks that something was said of when they were handed out."""
    question = votes.question
    params = {"key": question.key, "study": question.study_id}
    hints = postgres.copy_columns(_EACH if question.per_candidate else _WHOLE, _TYPES, params)
    about = votes.units.candidate[votes.unit] if question.per_candidate else np.zeros_like(votes.unit)
    row = _rows(votes.judgment, about, hints)
    known = row >= 0
    row = row[known]
    shown = np.asarray(hints["shown"][row] == 1)
    return HintedVotes(votes.select(known), hints["predicted"][row], shown, hints["stratum"][row])


def hint_counts(study: Study) -> HintCounts | None:
    """None where no judgment was of a task that a model's opinion could be shown of. Studies that never showed any are
    told by their rules alone."""
    if "hints" not in study.rules:
        return None
    judged = Judgment.objects.filter(study=study, effective=True, assignment__hint_shown__isnull=False)
    counts = dict(judged.values_list("assignment__hint_shown").annotate(Count("pk")).order_by())
    if not counts:
        return None
    names = Assignment.objects.filter(judgments__in=judged).values_list("hint__scorer", flat=True)
    scorers = tuple(sorted(set(names.order_by().distinct())))
    return HintCounts(counts.get(True, 0), counts.get(False, 0), scorers)


def _rows(judgment: IntArray, candidate: IntArray, hints: postgres.Columns) -> IntArray:
    """The row of what was said to each vote; -1 where nothing was."""
    known = zip(hints["judgment"].tolist(), hints["candidate"].tolist(), strict=True)
    row_of = {pair: row for row, pair in enumerate(known)}
    pairs = zip(judgment.tolist(), candidate.tolist(), strict=True)
    return np.array([row_of.get(pair, -1) for pair in pairs], dtype=np.int64)
