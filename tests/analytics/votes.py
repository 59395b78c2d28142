"""Votes put straight into a study, as an import or the rating page would leave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import F

from annotation.models import Answer, Judgment, Question, Rater, Study, Task, TaskCandidate
from annotation.rating import exclusions


def vote(
    task: Task,
    value: float | None = None,
    *,
    question: str = "correctness",
    rater: Rater | None = None,
    slot: int | None = None,
    choice: int | None = None,
    confidence: float | None = None,
    text: str = "",
    version: Any = None,
    **fields: Any,
) -> Judgment:
    """One counted judgment with one answer; without a rater its origin named nobody. `fields` are the judgment's."""
    version = version or task.study.protocol_version
    surplus = fields.get("surplus", False)
    fields = {"effective": not surplus, "origin": Judgment.Origin.IMPORTED, **fields}
    judgment = Judgment.objects.create(
        study=task.study, task=task, rater=rater, protocol_version=version, payload_sha256=b"", **fields
    )
    if judgment.effective and not judgment.excluded:
        Task.objects.filter(pk=task.pk).update(n_judgments=F("n_judgments") + 1)
        if rater is None:
            Study.objects.filter(pk=task.study_id).update(n_unnamed_judgments=F("n_unnamed_judgments") + 1)
        else:
            Rater.objects.filter(pk=rater.pk).update(n_judgments=F("n_judgments") + 1)
    if value is None and choice is None and not text:
        return judgment
    Answer.objects.create(
        judgment=judgment,
        task=task,
        question=Question.objects.get(protocol_version=version, key=question),
        candidate=None if slot is None else TaskCandidate.objects.get(task=task, slot=slot).candidate,
        choice=choice,
        value=value,
        confidence=confidence,
        text=text,
        counted=judgment.effective and not judgment.excluded,
    )
    return judgment


def votes(task: Task, values: Sequence[float], **fields: Any) -> list[Judgment]:
    return [vote(task, value, **fields) for value in values]


def exclude(judgment: Judgment, reason: str = "careless") -> None:
    chosen = Judgment.objects.filter(pk=judgment.pk)
    exclusions.exclude_or_restore(chosen, study=judgment.study, action="exclude", reason=reason, actor=None)
