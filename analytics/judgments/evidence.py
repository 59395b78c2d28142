"""Evidence of flag rules in words: whose votes were split, which codes were given, what a model prefers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.judgments.readable import Side, pick_text
from annotation.models import CaseReason, TaskCandidate
from annotation.protocols.schema import Protocol, QuestionSpec, Text
from annotation.review import labels

_COUNTED_SIDES = {"first": 1, "second": 2}


@dataclass(frozen=True)
class ReadableReason:
    """Why a case was opened: the rule, and what it measured as names and texts."""

    reason: CaseReason
    title: Promise | str
    lines: tuple[tuple[str, str], ...]


def readable_reasons(reasons: Sequence[CaseReason], *, protocol: Protocol) -> list[ReadableReason]:
    """In input order, by one query. `reason.case` is loaded, or all reasons are of loaded cases."""
    tasks = {reason.pk: _task_of(reason) for reason in reasons}
    slots = _systems({task for task in tasks.values() if task is not None})
    return [
        ReadableReason(
            reason,
            labels.rule_title(reason.rule),
            tuple(_lines(reason.evidence, protocol, slots.get(tasks[reason.pk] or 0, {}))),
        )
        for reason in reasons
    ]


def _task_of(reason: CaseReason) -> int | None:
    """The task that the evidence is about first: its counts are by slots of this task."""
    tasks = reason.evidence.get("tasks")
    if isinstance(tasks, list) and tasks:
        return int(tasks[0])
    return reason.case.task_id


def _systems(tasks: set[int]) -> dict[int, dict[int, Side]]:
    rows = TaskCandidate.objects.filter(task__in=tasks).order_by("task_id", "slot")
    slots: dict[int, dict[int, Side]] = {}
    for task, slot, candidate, system in rows.values_list(
        "task_id", "slot", "candidate_id", "candidate__system__name"
    ):
        # What a choice is called here is the system that it is for: letters are not known.
        slots.setdefault(task, {})[slot] = Side(system, slot, system, candidate)
    return slots


def _lines(
    evidence: Mapping[str, Any], protocol: Protocol, sides: Mapping[int, Side]
) -> Iterator[tuple[str, str]]:
    about = next(
        (side.system for side in sides.values() if side.candidate_id == evidence.get("candidate")), ""
    )
    if about and len(sides) > 1:
        yield _("system"), about
    for key, name, value in labels.evidence_parts(evidence):
        if key in _COUNTED_SIDES and (side := sides.get(_COUNTED_SIDES[key] - 1)):
            yield _("votes for %(system)s") % {"system": side.system}, _number(value)
        else:
            yield str(name), _value(key, value, evidence, protocol, sides)


def _value(
    key: str, value: Any, evidence: Mapping[str, Any], protocol: Protocol, sides: Mapping[int, Side]
) -> str:
    question = protocol.question(str(evidence.get("question", "")))
    if key == "question" and question is not None:
        return _localized(question.title)
    if key == "codes" and isinstance(value, Mapping):
        titles = {code.key: f"{code.key} {_localized(code.title)}" for code in protocol.codes}
        return _counts({titles.get(str(code), str(code)): n for code, n in value.items()})
    if key == "votes" and isinstance(value, Mapping) and question is not None and question.kind == "choices":
        return _counts({_options_text(vote, question): n for vote, n in sorted(value.items())})
    if key == "votes" and isinstance(value, Mapping) and question is not None:
        return _counts({pick_text(float(vote), question, sides): n for vote, n in sorted(value.items())})
    if key == "model_prefers" and (side := sides.get(int(value) - 1)):
        return side.system
    if key == "reasons" and isinstance(value, list):
        titles = {reason.key: _localized(reason.title) for reason in protocol.skip_reasons}
        return ", ".join(titles.get(str(reason), str(reason)) for reason in value)
    return _number(value)


def _options_text(vote: str, question: QuestionSpec) -> str:
    """Several options are one answer: their numbers with a plus between them, 0 for none of them."""
    options = [question.option(int(number)) for number in vote.split("+")]
    return " + ".join(_localized(option.title) for option in options if option is not None) or _(
        "None of these"
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {n}" for name, n in counts.items())


def _number(value: Any) -> str:
    """With three significant digits; of tables and lists, their elements."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_number(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_number, value))
    if isinstance(value, float):
        return f"{value:.3g}".replace("-", "−")
    return str(value)


def _localized(text: Text) -> str:
    return text.in_language(get_language() or "en")
