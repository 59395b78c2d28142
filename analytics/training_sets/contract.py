"""What training sets are made of, and what a format of theirs is: plain values, no database.

A builder gets judged tasks one at a time and gives rows; nobody holds all of either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from analytics.training_sets.options import Options

FIRST, SECOND, TIE, BOTH_BAD = 1, 2, 3, 4  # as answers to preferences are stored

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Clip:
    """A sound by the hash of its canonical FLAC, the file that raters hear."""

    sha256: str
    seconds: float

    @property
    def file_name(self) -> str:
        return f"audio/{self.sha256}.flac"


@dataclass(frozen=True)
class Content:
    """What a version of an item says."""

    prompt: str = ""
    lyrics: str = ""
    question: str = ""
    reference: str = ""
    rationale: str = ""
    transcript: str = ""
    clip: Clip | None = None
    reference_clip: Clip | None = None


@dataclass(frozen=True)
class Output:
    """What a system made of it: words or a sound. `key` is of this installation and goes into no file."""

    key: int
    system: str
    take: int = 1
    text: str = ""
    clip: Clip | None = None

    @property
    def shown(self) -> str:
        """What stands for it in a field of text: its words, or the name of its file."""
        return self.clip.file_name if self.clip else self.text


@dataclass(frozen=True)
class Given:
    """One answer. `slot`: the output it is about, None for the whole task. `choice` names slots: 1 is the first."""

    question: str
    slot: int | None = None
    choice: int | None = None
    value: float | None = None
    confidence: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Said:
    """One judgment that counts. An empty `rater` is one whom nobody named. `shown`: the slots in the order in which the
    rater met them. `inclusion`: the chance the task had where a policy drew it, else None."""

    rater: str
    origin: str
    given: tuple[Given, ...]
    codes: tuple[str, ...] = ()
    comment: str = ""
    shown: tuple[int, ...] | None = None
    inclusion: float | None = None


@dataclass(frozen=True)
class Score:
    """What a model said: of the output in `slot`, or, where `other` is set, of it beside that one."""

    scorer: str
    output: str
    slot: int
    other: int | None
    value: float


@dataclass(frozen=True)
class Judged:
    """A task with what was said of it. `corrected`: its item's texts are an expert's. Names are the study's own."""

    task: str
    item: str
    version: int
    corrected: bool
    content: Content
    outputs: tuple[Output, ...]
    said: tuple[Said, ...]
    strata: Mapping[str, str] = field(default_factory=dict)
    scores: tuple[Score, ...] = ()

    def answers(self, question: str, *, slot: int | None = None) -> Iterator[tuple[Said, Given]]:
        """Those to one question; about one output where `slot` names it."""
        for said in self.said:
            for given in said.given:
                about = given.slot if given.slot is not None or len(self.outputs) > 1 else 0
                if given.question == question and (slot is None or about == slot):
                    yield said, given


@dataclass(frozen=True)
class Question:
    """A question that can be learned from. `points` are the values of its scale, none on a continuous one."""

    key: str
    is_preference: bool
    points: tuple[float, ...] = ()


@dataclass
class Making:
    """What builders are given besides tasks, and where they count what they leave out and what
    else there is to know.

    `weight` is a rater's by question; see `reliability`. `tasks_of` counts the tasks of outputs that several judge, and
    `gathered` keeps what the first of them say of one. `part` is the split of the task at hand.
    """

    options: Options
    systems: tuple[str, ...] = ()
    weight: Callable[[str, str], float] = lambda question, rater: 1.0
    confidence: Mapping[str, float] = field(default_factory=dict)
    tasks_of: Mapping[int, int] = field(default_factory=dict)
    gathered: dict[int, list[Any]] = field(default_factory=dict)
    part: str = "train"
    left_out: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)

    def gather(self, output: Output, said: list[T]) -> list[T] | None:
        """What all tasks say of an output, once the last of them is reached; before that, None. For formats that know
        a row by its output alone."""
        told = self.gathered.setdefault(output.key, [])
        told.append(said)
        if len(told) < self.tasks_of.get(output.key, 1):
            return None
        return [one for each in self.gathered.pop(output.key) for one in each]

    def vote_weight(self, said: Said, given: Given) -> float:
        """What a vote weighs: its rater's weight, times its confidence over the mean one where that is asked for."""
        weight = self.weight(given.question, said.rater)
        mean = self.confidence.get(given.question)
        if self.options.confidence == "weight" and given.confidence is not None and mean:
            return weight * given.confidence / mean
        return weight


@dataclass(frozen=True)
class Column:
    """`kind`: string, int, float, bool, or one of the lists and tables that `files` knows by name."""

    name: str
    kind: str
    meaning: str


Rows = Callable[[Judged, tuple[Question, ...], Making], Iterator[Row]]


@dataclass(frozen=True)
class Format:
    """`learns`: the questions it takes, "preference" or "rating". `files`: kinds of file it can be written to, the
    usual one first. `ties`: what may become of undecided votes, the usual first; empty where there can be none.
    `per_question`: a table for each question; else one in all. `holds`: its columns that name an item, texts, sounds
    and systems, by which finished rows are checked for leaks. `weighs`: rater weights and confidences change its rows.
    """

    key: str
    title: str
    learns: str
    files: tuple[str, ...]
    rows: Rows
    columns: tuple[Column, ...]
    holds: Mapping[str, tuple[str, ...]]
    notes: str
    ties: tuple[str, ...] = ()
    per_question: bool = True
    weighs: bool = False
    margins: bool = False
    aggregates: tuple[str, ...] = ()
    checked_by: Callable[[Question], str] = lambda question: ""
