"""The training tasks of a study, in words, for those who set them up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from annotation.models import Answer, GoldKey, Study, Task
from annotation.onboarding.onboarding_settings import training_tasks
from annotation.protocols import Protocol
from annotation.studies.protocols import load_protocol
from labeling_ui.onboarding.forms import wording
from labeling_ui.templatetags.formatting import in_language


@dataclass(frozen=True)
class ExpectedAnswer:
    question: str
    answer: str
    explanation: str


@dataclass(frozen=True)
class DescribedTask:
    task: Task
    text: str
    expected: list[ExpectedAnswer]


def described_tasks(study: Study) -> Iterator[DescribedTask]:
    """In the order in which raters meet them, with what each expects."""
    spec = load_protocol(study.protocol_version_id).spec
    ids = [task.pk for task in training_tasks(study)]
    tasks = study.tasks.select_related("item_version__item").prefetch_related("gold_keys").in_bulk(ids)
    for pk in ids:
        task = tasks[pk]
        version = task.item_version
        text = version.prompt or version.question or version.item.external_id
        keys = sorted(task.gold_keys.all(), key=lambda key: key.pk)
        yield DescribedTask(task, text, [_expected(key, spec) for key in keys])


def _expected(key: GoldKey, spec: Protocol) -> ExpectedAnswer:
    question = spec.question(key.question_key)
    title = in_language(question.title) if question else key.question_key
    if key.choice is not None:
        answer = {
            Answer.Choice.FIRST: _("the first as imported"),
            Answer.Choice.SECOND: _("the second as imported"),
        }.get(Answer.Choice(key.choice), Answer.Choice(key.choice).label)
    elif question and question.kind == "choice" and key.value is not None and question.option(key.value):
        answer = in_language(question.option(key.value).title)  # type: ignore[union-attr]  # seen above
    else:
        answer = f"{key.value:g}" if key.value is not None else "–"
        if key.tolerance:
            answer = _("%(value)s ± %(tolerance)s") % {"value": answer, "tolerance": f"{key.tolerance:g}"}
    return ExpectedAnswer(title, str(answer), wording(key.explanation))
