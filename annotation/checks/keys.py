"""Answer keys of checks: set by hand, and read in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db import transaction

from annotation.checks.expected import CHOICES, ExpectedAnswer, key_values
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import GoldKey, Question, Study, Task, User
from annotation.protocols import Protocol, QuestionSpec
from annotation.rating import task_kinds
from annotation.studies import audit
from annotation.studies.protocols import load_protocol


@transaction.atomic
def set_gold(
    study: Study, task: Task, expected: Sequence[ExpectedAnswer], *, actor: User | None, kind: str = "gold"
) -> None:
    """Make a task a gold (or training) task that expects these answers, in the place of those that it expected. Raises
    InvalidInput where the protocol has no such question or answer, and `met` where raters would lose their votes."""
    protocol = load_protocol(study.protocol_version_id).spec
    rows = [key_values(protocol, one, where=one.question) for one in expected]
    problems = [row for row in rows if isinstance(row, FieldProblem)]
    if not expected:
        problems.append(FieldProblem("answers", "Give the answer that is expected of one question at least."))
    if problems:
        raise InvalidInput("These answers cannot be expected.", problems=problems)
    GoldKey.objects.filter(task=task).delete()
    GoldKey.objects.bulk_create(
        GoldKey(task=task, **row) for row in rows if not isinstance(row, FieldProblem)
    )
    audit.record(
        "tasks.key_set", actor=actor, study=study, subject=f"task {task.pk}",
        expected={one.question: one.answer for one in expected},
    )  # fmt: skip
    task_kinds.set_kind(study, [task.pk], kind=kind, actor=actor)


def expected_of(task: Task, protocol: Protocol) -> Iterator[tuple[QuestionSpec, GoldKey, str]]:
    """What a task expects: the question, the key, and the answer in words."""
    names: Mapping[int, str] = {number: name for name, number in CHOICES.items()}
    for key in task.gold_keys.order_by("pk"):
        if question := protocol.question(key.question_key):
            if key.choice is not None:
                yield question, key, names[key.choice]
            elif key.value is not None:
                option = question.option(key.value) if question.kind == Question.Kind.CHOICE else None
                yield question, key, option.key if option else f"{key.value:g}"
