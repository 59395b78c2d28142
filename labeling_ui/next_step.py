"""The one thing a study needs next, decided from plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from annotation.models import Study

State = Study.State


class Step(Enum):
    WATCH_IMPORT = "watch_import"
    IMPORT = "import"
    READ_RESULTS = "read_results"
    START = "start"
    INVITE = "invite"
    WAIT = "wait"
    CLOSE = "close"
    RESUME = "resume"
    EXPORT = "export"


@dataclass(frozen=True)
class Situation:
    """What the decision rests on. `complete`: every task has the judgments it wants. `people`: can anybody rate?"""

    state: str
    tasks: int
    complete: bool
    people: bool
    importing: bool


def next_step(now: Situation) -> Step:
    if now.importing:
        return Step.WATCH_IMPORT
    if now.state == State.CLOSED:
        return Step.EXPORT
    if now.tasks == 0:
        return Step.IMPORT
    if now.complete:
        return Step.CLOSE if now.state == State.RUNNING else Step.READ_RESULTS
    if now.state == State.DRAFT:
        return Step.START
    if now.state == State.PAUSED:
        return Step.RESUME
    return Step.WAIT if now.people else Step.INVITE
