"""Studies with votes that rules find something in, made in few lines."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils import timezone

from annotation.models import Answer, ItemVersion, Judgment, Rater, ReviewCase, Study, Task
from annotation.review import cases
from annotation.studies.protocols import load_protocol


def vote(
    task: Task,
    value: float | None = None,
    *,
    codes: tuple[str, ...] = (),
    rater: Rater | None = None,
    **fields: Any,
) -> Judgment:
    """One counted judgment of a task with one answer to the study's first measured question, as an import leaves it.

    A preference's `value` is a choice (1 or 2). `confidence=`, `origin=`, `effective=`, `excluded=`, `submitted_at=`.
    """
    confidence = fields.pop("confidence", None)
    protocol = load_protocol(task.study.protocol_version_id)
    question = next(asked for asked in protocol.spec.questions if asked.level)
    judgment = Judgment.objects.create(
        study=task.study, task=task, rater=rater, protocol_version_id=protocol.version_id, client_id=uuid.uuid4(),
        payload_sha256=b"0" * 32, codes=list(codes),
        **{"origin": Judgment.Origin.IMPORTED, "submitted_at": timezone.now(), **fields},
    )  # fmt: skip
    if value is not None:
        said = {"choice": int(value)} if question.kind == "preference" else {"value": value}
        Answer.objects.create(
            judgment=judgment, task=task, question_id=protocol.question_ids[question.key], confidence=confidence,
            counted=judgment.effective and not judgment.excluded, **said,
        )  # fmt: skip
    return judgment


def votes(task: Task, *values: float, **fields: Any) -> list[Judgment]:
    return [vote(task, value, **fields) for value in values]


def case(task: Task, *, rules: tuple[str, ...] = ("codes",), **fields: Any) -> ReviewCase:
    """A case for a task's version as rules would have opened it."""
    version = task.item_version
    return ReviewCase.objects.create(
        study=task.study, item=version.item, item_version=version, task=task, rules=list(rules), **fields
    )


def open_case(version: ItemVersion, *, rule: str, task: Task | None = None, **found: Any) -> bool:
    """Open a case for what a rule found now, or add the rule to the one there is; whether that changed anything.
    `evidence=`, `weight=`."""
    now = timezone.now()
    evidence, weight = found.get("evidence", {}), found.get("weight", 1.0)
    finding = cases.Finding(version.pk, task.pk if task else None, now, evidence, weight)
    opened = cases.open_cases(rule, [finding], at=now, actor=None)
    return bool(opened.n_opened + opened.n_added)


def unresolved(study: Study) -> dict[str, set[str]]:
    """The rules of each unresolved case, by the item's name."""
    found = ReviewCase.objects.filter(study=study).exclude(state=ReviewCase.State.RESOLVED)
    return {one.item.external_id: set(one.rules) for one in found.select_related("item")}
