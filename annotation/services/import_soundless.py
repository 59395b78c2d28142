"""Releases that come without their sounds: what was judged can be imported, what still waits for raters cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.importers.records import RowProblem, TaskRecord
from annotation.models import Study
from annotation.protocols import Protocol
from annotation.services import import_rows
from annotation.services.import_orders import Order

REMEDY = "Put the sounds beside the source; or import it as finished data: no more judgments wanted than it brings."


def faults(
    study: Study | None, order: Order, protocol: Protocol, records: Sequence[TaskRecord]
) -> Iterator[tuple[TaskRecord, RowProblem]]:
    """New tasks that raters would get with nothing to hear, though their protocol wants it heard."""
    waiting = [record for record in records if _waits(record, study, order) and _is_silent(record, protocol)]
    there = import_rows.candidates_of(study, [record.external_id for record in waiting]) if study else {}
    for record in waiting:
        if record.external_id not in there:
            problem = "wants more judgments, and there is no sound to give them on"
            yield record, RowProblem(record.row, "audio", problem, REMEDY)


def _waits(record: TaskRecord, study: Study | None, order: Order) -> bool:
    given = len(record.judgments)
    if order.archive and given:
        return False
    default = study.overlap if study else order.new_study.overlap if order.new_study else 1
    return given < (order.overlap or default)


def _is_silent(record: TaskRecord, protocol: Protocol) -> bool:
    heard = {
        "candidates": [candidate.audio for candidate in record.candidates],
        "clip": [record.item.audio],
        "reference_clip": [record.item.reference_audio],
    }
    return any(None in heard[name] for name in protocol.listening.must_hear)
