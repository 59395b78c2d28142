"""Judged tasks: regular tasks of a study with their counted judgments, as training sets read them.

Judgments count as in every figure, and only a rater's first one on a task does. Judgments of withdrawn raters and items
that the review has withdrawn are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from analytics.data import counted_judgments
from analytics.data.postgres import fetch_rows
from analytics.data.questions import MeasuredQuestion
from analytics.datasets.formats.contract import (
    AnswerRow,
    Clip,
    Content,
    JudgedTask,
    JudgmentRow,
    Output,
    Score,
)
from analytics.datasets.item_records import original_version
from analytics.datasets.values import TEXT_FIELDS, grouped
from annotation.items.corrections import holds_correction
from annotation.models import Item, Judgment, Question, Rater, Study, Task
from annotation.review.rules import REVIEW_EXCLUSIONS

BATCH = 500
ORIGINS = {one.name.lower(): int(one) for one in Judgment.Origin}
_CLIPS = ("clip", "reference_clip")

# Of original texts also the judgments that only the review excludes: they are about these texts.
_JUDGMENTS = f"""
SELECT j.id, j.task_id, r.pseudonym, j.origin, j.codes, j.comment, j.presentation, s.inclusion_probability
FROM annotation_judgment j
LEFT JOIN annotation_rater r ON r.id = j.rater_id
LEFT JOIN annotation_assignment s ON s.id = j.assignment_id
WHERE j.task_id = ANY(%(tasks)s) AND j.effective AND j.origin = ANY(%(origins)s)
  AND (r.id IS NULL OR r.state <> '{Rater.State.WITHDRAWN}')
  AND (NOT j.excluded OR (j.task_id = ANY(%(before)s) AND {counted_judgments.EXCLUDED_BY_REVIEW_SQL}))
ORDER BY j.task_id, {counted_judgments.FIRST_VOTE_TIME_SQL}, j.id
"""
_ANSWERS = """
SELECT a.judgment_id, q.key, a.candidate_id, a.choice, a.value, a.confidence, a.text
FROM annotation_answer a JOIN annotation_question q ON q.id = a.question_id
WHERE a.judgment_id = ANY(%(judgments)s) AND a.question_id = ANY(%(questions)s) ORDER BY a.question_id, a.id
"""
_OUTPUTS = """
SELECT k.task_id, c.id, s.name, c.take, c.text, l.canonical_sha256, l.duration_s
FROM annotation_taskcandidate k JOIN annotation_candidate c ON c.id = k.candidate_id
JOIN annotation_system s ON s.id = c.system_id LEFT JOIN annotation_clip l ON l.id = c.clip_id
WHERE k.task_id = ANY(%(tasks)s) ORDER BY k.task_id, k.slot
"""
_SCORES = """
SELECT s.candidate_id, s.other_id, r.key || '@' || left(r.digest, 8), s.output, s.value
FROM scoring_score s JOIN scoring_scorer r ON r.id = s.scorer_id
WHERE s.candidate_id = ANY(%(candidates)s) AND s.value IS NOT NULL
"""


@dataclass(frozen=True)
class TaskSelection:
    """`texts` as in `training_sets.options`; `votes` are origins; `scores`: with what models said."""

    questions: Sequence[MeasuredQuestion]
    texts: str
    votes: Sequence[str]
    scores: bool = False


def count_judged_tasks(study: Study, selection: TaskSelection) -> int:
    return _tasks(study, selection).count()


def judged_tasks(study: Study, selection: TaskSelection) -> Iterator[JudgedTask]:
    """Tasks with judgments, in the order in which they were stored; by a few queries for 500."""
    last, question_ids = 0, _question_ids(study, selection)
    fields = (
        "id",
        "external_id",
        "corrected",
        "item_version__item__external_id",
        "item_version__item__strata",
        "item_version__number",
        *(f"item_version__{name}" for name in TEXT_FIELDS),
        *(f"item_version__{clip}__{name}" for clip in _CLIPS for name in ("canonical_sha256", "duration_s")),
    )
    tasks = _tasks(study, selection).annotate(corrected=holds_correction("item_version__")).order_by("pk")
    while batch := list(tasks.filter(pk__gt=last).values(*fields)[:BATCH]):
        yield from _read(batch, selection, question_ids)
        last = batch[-1]["id"]


def _tasks(study: Study, selection: TaskSelection) -> QuerySet[Task]:
    now = Q(item_version__item__current_version=F("item_version"))
    rows = Task.objects.filter(
        Exists(Judgment.objects.filter(task=OuterRef("pk"))),
        study=study,
        kind=Task.Kind.REGULAR,
        item_version__item__state=Item.State.ACTIVE,
    )
    if selection.texts == "corrected":
        return rows.filter(now)
    rows = rows.annotate(original=original_version("item_version__item"))
    before = Q(original=F("item_version"))
    return rows.filter(before if selection.texts == "original" else before | now)


def _question_ids(study: Study, selection: TaskSelection) -> list[int]:
    """Those to learn from, and questions whose answers are words."""
    measured = [number for question in selection.questions for number in question.ids]
    words = Question.objects.filter(protocol_version__study=study, kind=Question.Kind.TEXT)
    return [*measured, *words.values_list("pk", flat=True)]


def _read(
    batch: Sequence[Mapping[str, Any]], selection: TaskSelection, question_ids: Sequence[int]
) -> Iterator[JudgedTask]:
    ids = [row["id"] for row in batch]
    before: list[int] = []
    if selection.texts != "corrected":
        before = [row["id"] for row in batch if not row["corrected"]]
    outputs = _outputs(ids)
    origins = [ORIGINS[name] for name in selection.votes]
    judgments = _judgments(ids, before, origins, question_ids, outputs)
    scores = _scores(outputs) if selection.scores else {}
    for row in batch:
        if judgments[row["id"]]:
            yield _judged(row, outputs[row["id"]], judgments[row["id"]], scores)


def _judged(
    row: Mapping[str, Any],
    outputs: Sequence[Output],
    judgments: Sequence[JudgmentRow],
    scores: Mapping[int, Sequence[tuple[int | None, str, str, float]]],
) -> JudgedTask:
    slots = {output.key: slot for slot, output in enumerate(outputs)}
    content: dict[str, Any] = {name: row[f"item_version__{name}"] for name in TEXT_FIELDS}
    for name in _CLIPS:
        content[name] = _clip(
            *(row[f"item_version__{name}__{key}"] for key in ("canonical_sha256", "duration_s"))
        )
    strata = row["item_version__item__strata"]
    return JudgedTask(
        task=row["external_id"],
        item=row["item_version__item__external_id"],
        version=row["item_version__number"],
        corrected=row["corrected"],
        content=Content(**content),
        outputs=tuple(outputs),
        judgments=tuple(judgments),
        strata={key: str(value) for key, value in strata.items() if isinstance(value, str | int)},
        scores=tuple(
            Score(scorer, output, slots[key], None if other is None else slots[other], value)
            for key in slots
            for other, scorer, output, value in scores.get(key, ())
            if other is None or other in slots
        ),
    )


def _outputs(tasks: Collection[int]) -> Mapping[int, list[Output]]:
    return grouped(
        (task, Output(key, system, take, text, _clip(sha256, seconds)))
        for task, key, system, take, text, sha256, seconds in fetch_rows(_OUTPUTS, tasks=list(tasks))
    )


def _judgments(
    tasks: Collection[int],
    before: Collection[int],
    origins: Collection[int],
    question_ids: Sequence[int],
    outputs: Mapping[int, Sequence[Output]],
) -> Mapping[int, list[JudgmentRow]]:
    rows = fetch_rows(
        _JUDGMENTS,
        tasks=list(tasks),
        before=list(before),
        origins=list(origins),
        by_review=list(REVIEW_EXCLUSIONS),
    )
    slots = {task: {output.key: slot for slot, output in enumerate(own)} for task, own in outputs.items()}
    task_of = {row[0]: row[1] for row in rows}
    answers: defaultdict[int, list[AnswerRow]] = defaultdict(list)
    for judgment, key, candidate, choice, value, confidence, text in fetch_rows(
        _ANSWERS, judgments=list(task_of), questions=list(question_ids)
    ):
        slot = None if candidate is None else slots[task_of[judgment]][candidate]
        answers[judgment].append(AnswerRow(key, slot, choice, value, confidence, text))
    found: defaultdict[int, list[JudgmentRow]] = defaultdict(list)
    seen: set[tuple[int, str]] = set()
    for judgment, task, rater, origin, codes, comment, presentation, probability in rows:
        if rater and (task, rater) in seen:
            continue
        seen.add((task, rater or ""))
        found[task].append(
            JudgmentRow(
                rater=rater or "",
                origin=Judgment.Origin(origin).name.lower(),
                answers=tuple(answers[judgment]),
                codes=tuple(codes),
                comment=comment,
                presentation=tuple(presentation) if presentation else None,
                inclusion_probability=probability,
            )
        )
    return found


def _scores(
    outputs: Mapping[int, Sequence[Output]],
) -> Mapping[int, list[tuple[int | None, str, str, float]]]:
    keys = [output.key for own in outputs.values() for output in own]
    rows = fetch_rows(_SCORES, candidates=keys)
    return grouped((candidate, tuple(score)) for candidate, *score in rows)


def _clip(sha256: str | None, seconds: float | None) -> Clip | None:
    return None if sha256 is None else Clip(sha256, seconds or 0.0)
