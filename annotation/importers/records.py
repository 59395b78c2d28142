"""What every format is turned into, before anything touches the database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TEXT_FIELDS = ("prompt", "lyrics", "question", "reference", "rationale", "transcript")


@dataclass(frozen=True)
class RowProblem:
    """One fault in the source: where it stands, in which field, what is wrong, what mends it."""

    row: str
    field: str
    problem: str
    remedy: str = ""


@dataclass(frozen=True)
class ItemRecord:
    external_id: str
    texts: Mapping[str, str] = field(default_factory=dict)
    reference_audio: Path | None = None
    audio: Path | None = None
    strata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CandidateRecord:
    system: str
    text: str = ""
    audio: Path | None = None


@dataclass(frozen=True)
class AnswerRecord:
    """In the task's own terms: `choice` as in `rules.answers` (1 first slot … 4 both bad), `slot` per candidate."""

    question: str
    choice: int | None = None
    value: float | None = None
    confidence: float | None = None
    text: str = ""
    slot: int | None = None


@dataclass(frozen=True)
class JudgmentRecord:
    """One rater's answers to one task. `key` names it within the task; an empty `rater` is an unnamed one."""

    key: str
    row: str
    rater: str = ""
    answers: tuple[AnswerRecord, ...] = ()
    codes: tuple[str, ...] = ()
    comment: str = ""
    presentation: tuple[int, ...] | None = None


@dataclass
class TaskRecord:
    """A task with what was already said about it. `row` is where the source first names it."""

    row: str
    external_id: str
    item: ItemRecord
    candidates: tuple[CandidateRecord, ...]
    judgments: list[JudgmentRecord] = field(default_factory=list)

    def audio(self) -> list[tuple[str, Path]]:
        """The files it needs, each with the name of the field that asks for it."""
        named = [("reference_audio", self.item.reference_audio), ("audio", self.item.audio)]
        suffixes = (
            [""] if len(self.candidates) == 1 else [f"_{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
        )
        named += [(f"audio{s}", c.audio) for s, c in zip(suffixes, self.candidates, strict=False)]
        return [(name, path) for name, path in named if path is not None]


def content_sha256(item: ItemRecord, hashes: Mapping[Path, str]) -> str:
    """The identity of an item's content: its texts, and its audio by hash."""
    content = {
        **{name: item.texts.get(name, "") for name in TEXT_FIELDS},
        "reference_audio": hashes.get(item.reference_audio) if item.reference_audio else None,
        "audio": hashes.get(item.audio) if item.audio else None,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
