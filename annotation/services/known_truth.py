"""The tasks of a study whose truth is known: those of the demo, wherever they were imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from annotation.demo import ballots, known
from annotation.demo.ballots import Ballot
from annotation.demo.clips import Outcome
from annotation.demo.raters import Rater
from annotation.demo.scenes import Question
from annotation.errors import InvalidInput
from annotation.models import Study, Task, TaskCandidate
from annotation.protocols import Protocol
from annotation.services.protocols import loaded

# Enough to see what is meant.
_EXAMPLES = 3


@dataclass(frozen=True)
class Compared:
    """What is wrong with the two clips of a task, by slot."""

    slots: tuple[Outcome, Outcome]

    def ballot(
        self, rater: Rater, *, shown: Sequence[int], protocol: Protocol, rng: np.random.Generator
    ) -> Ballot:
        first, second = (self.slots[slot] for slot in shown)
        return ballots.compare(rater, first, second, protocol=protocol, rng=rng)


@dataclass(frozen=True)
class Judged:
    """Which of a question's answers a task shows."""

    question: Question
    index: int

    def ballot(
        self, rater: Rater, *, shown: Sequence[int], protocol: Protocol, rng: np.random.Generator
    ) -> Ballot:
        return ballots.judge(rater, self.question, self.index, protocol=protocol, rng=rng)


Truth = Compared | Judged


class _Slot(NamedTuple):
    item: str
    prompt: str
    system: str
    text: str


@dataclass(frozen=True)
class KnownTask:
    name: str
    truth: Truth


def tasks_of(study: Study) -> dict[int, KnownTask]:
    """Every task that raters may get, by id. Raises InvalidInput where the truth of one that wants judgments is
    unknown, or the study asks what simulated raters could not answer."""
    ready = Task.objects.filter(study=study, state=Task.State.READY)
    named = {pk: (name, open_) for pk, name, open_ in ready.values_list("pk", "external_id", "wants_more")}
    protocol = loaded(study.protocol_version_id).spec
    found = _truths(study, protocol)
    unknown = sorted(name for pk, (name, open_) in named.items() if open_ and pk not in found)
    if unknown or not found:
        raise InvalidInput(_unknown(unknown), code="truth_unknown")
    asked = ballots.COMPARED if protocol.layout == "comparison" else ballots.RATED
    if foreign := ballots.foreign_questions(protocol, known=asked):
        text = f"Simulated raters cannot answer {', '.join(foreign)}; make it optional, or use the demo's protocol."
        raise InvalidInput(text, code="foreign_question")
    return {pk: KnownTask(name, found[pk]) for pk, (name, _) in named.items() if pk in found}


def _unknown(names: Sequence[str]) -> str:
    about = ""
    if names:
        more = f", and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
        about = (
            f" Nothing is known of these tasks, which want judgments: {'; '.join(names[:_EXAMPLES])}{more}."
        )
    return (
        "Simulated raters vote by what is known to be true, which is so of the demo's own items only, as they were "
        f"imported.{about}"
    )


def _truths(study: Study, protocol: Protocol) -> dict[int, Truth]:
    rows = TaskCandidate.objects.filter(task__study=study, task__state=Task.State.READY)
    slots: dict[int, list[_Slot]] = {}
    for pk, *slot in rows.order_by("task_id", "slot").values_list(
        "task_id", "task__item_version__item__external_id", "task__item_version__prompt",
        "candidate__system__name", "candidate__text",
    ):  # fmt: skip
        slots.setdefault(pk, []).append(_Slot(*slot))
    truth_of = _compared if protocol.layout == "comparison" else _judged
    truths = {pk: truth_of(shown) for pk, shown in slots.items()}
    return {pk: truth for pk, truth in truths.items() if truth is not None}


def _compared(slots: Sequence[_Slot]) -> Compared | None:
    found = [known.outcome(slot.item, prompt=slot.prompt, system=slot.system) for slot in slots]
    outcomes = [outcome for outcome in found if outcome is not None]
    return Compared((outcomes[0], outcomes[1])) if len(outcomes) == len(found) == 2 else None


def _judged(slots: Sequence[_Slot]) -> Judged | None:
    if len(slots) != 1:
        return None
    found = known.answer(slots[0].item, text=slots[0].text)
    return None if found is None else Judged(*found)
