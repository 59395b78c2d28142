"""Records as compact JSON texts and back: what an import keeps of a source between reading and writing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from annotation.importers.records import (
    AnswerRecord,
    Audio,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    PackedAudio,
    RemoteAudio,
    TaskRecord,
)


@dataclass(frozen=True, slots=True)
class StagedJson:
    """A task record, taken apart: `item` and `candidates` are what fragments must agree in, `rest` is what they need
    not, `said` the judgments without the brackets of their list, None where there are none."""

    row: str
    task_name: str
    item_name: str
    item_hash: int
    item: str
    candidates: str
    rest: str
    said: str | None

    @property
    def size(self) -> int:
        """In characters, of what may be long."""
        return len(self.item) + len(self.candidates) + len(self.said or "")


def encoded(record: TaskRecord) -> StagedJson:
    item = _item(record.item)
    return StagedJson(
        record.row,
        record.external_id,
        record.item.external_id,
        int.from_bytes(blake2b(item, digest_size=8).digest(), "big", signed=True),
        item.decode(),
        encoded_candidates(record.candidates),
        _rest(record),
        orjson.dumps([_judgment(said) for said in record.judgments])[1:-1].decode()
        if record.judgments
        else None,
    )


def _item(item: ItemRecord) -> bytes:
    texts = {name: text for name, text in item.texts.items() if text}
    sounds = [encoded_audio(item.reference_audio), encoded_audio(item.audio)]
    return orjson.dumps([texts, *sounds], option=orjson.OPT_SORT_KEYS)


def encoded_candidates(candidates: Sequence[CandidateRecord]) -> str:
    found = [[one.system, one.text, encoded_audio(one.audio), one.role] for one in candidates]
    return orjson.dumps(found).decode()


def _rest(record: TaskRecord) -> str:
    return orjson.dumps([dict(record.item.strata), [one.column for one in record.candidates]]).decode()


def _judgment(said: JudgmentRecord) -> list[Any]:
    answers = [
        [one.question, one.choice, one.value, one.confidence, one.text, one.slot] for one in said.answers
    ]
    return [
        said.key, said.row, said.rater, answers, said.codes, said.comment, said.presentation, said.column,
    ]  # fmt: skip


def decoded(staged: StagedJson) -> TaskRecord:
    texts, reference, audio = orjson.loads(staged.item)
    strata, columns = orjson.loads(staged.rest)
    return TaskRecord(
        staged.row,
        staged.task_name,
        ItemRecord(staged.item_name, texts, decoded_audio(reference), decoded_audio(audio), strata),
        tuple(_candidates(orjson.loads(staged.candidates), columns)),
        [] if staged.said is None else [_said(*values) for values in orjson.loads(f"[{staged.said}]")],
    )


def _candidates(found: list[list[Any]], columns: list[str]) -> Iterator[CandidateRecord]:
    for place, (system, text, audio, role) in enumerate(found):
        # Candidates that the import added have no column.
        column = columns[place] if place < len(columns) else "audio"
        yield CandidateRecord(system, text, decoded_audio(audio), role, column)


def _said(
    key: str,
    row: str,
    rater: str,
    answers: list[list[Any]],
    codes: list[str],
    comment: str,
    presentation: list[int] | None,
    column: str,
) -> JudgmentRecord:
    return JudgmentRecord(
        key,
        row,
        rater,
        tuple(AnswerRecord(*values) for values in answers),
        tuple(codes),
        comment,
        None if presentation is None else tuple(presentation),
        column,
    )


def encoded_audio(audio: Audio | None) -> Any:
    match audio:
        case None:
            return None
        case Path():
            return str(audio)
        case PackedAudio(file, row, column):
            return [str(file), row, column]
        case _:
            return [audio.address]


def decoded_audio(found: Any) -> Audio | None:
    match found:
        case None:
            return None
        case str():
            return Path(found)
        case [address]:
            return RemoteAudio(address)
        case _:
            file, row, column = found
            return PackedAudio(Path(file), row, column)


def sound_name(audio: Audio) -> str:
    """One text per sound."""
    return orjson.dumps(encoded_audio(audio)).decode()
