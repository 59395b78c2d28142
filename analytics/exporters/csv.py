"""CSV: one row per answer, one per candidate of each item version, and one per listening check.

Codes are joined by semicolons, as the plain import takes them; other lists and tables are cells of JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annotation.formulas import defused

Record = dict[str, Any]

_JUDGMENT = (
    "study", "item", "item_version", "task", "task_kind", "systems", "takes", "roles", "presentation", "client_id",
    "rater", "origin", "revision", "effective", "excluded", "exclusion_reason", "surplus", "protocol_version", "preset",
    "codes", "comment", "leased_at", "started_at", "submitted_at", "gains_db", "heard_s", "heard_item_s", "switches",
    "session_s", "rater_marks",
)  # fmt: skip
_ANSWER = (
    "question", "slot", "system", "choice", "choice_slot", "choice_shown", "value", "confidence", "text", "events",
)  # fmt: skip
_ITEM = (
    "study", "item", "state", "strata", "version", "current", "prompt", "lyrics", "question", "reference",
    "rationale", "transcript", "extra",
)  # fmt: skip
_CHECK = ("study", "rater", "check", "passed", "n_correct", "n_trials", "started_at", "finished_at")
_CODES = _JUDGMENT.index("codes")
_CLIP = ("sha256", "canonical_sha256", "seconds")


def answer_lines(judgments: Iterable[Record]) -> Iterator[str]:
    """A judgment without answers, given by codes alone, has one row with the answer's cells empty."""
    yield _line((*_JUDGMENT, *_ANSWER))
    for judgment in judgments:
        shared = [judgment[name] for name in _JUDGMENT]
        shared[_CODES] = ";".join(judgment["codes"])
        for answer in judgment["answers"] or [{}]:
            yield _line((*shared, *(answer.get(name) for name in _ANSWER)))


def candidate_lines(items: Iterable[Record]) -> Iterator[str]:
    """An item version without candidates has one row with the candidate's cells empty."""
    clips = [f"{part}_{name}" for part in ("reference_clip", "clip", "candidate_clip") for name in _CLIP]
    yield _line((*_ITEM, *clips[:6], "system", "take", "text", *clips[6:]))
    for item in items:
        shared = [*(item[name] for name in _ITEM), *_clip(item["reference_clip"]), *_clip(item["clip"])]
        for candidate in item["candidates"] or [{}]:
            own = [candidate.get(name) for name in ("system", "take", "text")]
            yield _line((*shared, *own, *_clip(candidate.get("clip"))))


def check_lines(checks: Iterable[Record]) -> Iterator[str]:
    yield _line(_CHECK)
    for check in checks:
        yield _line([check[name] for name in _CHECK])


def _clip(clip: Record | None) -> list[Any]:
    return [None] * len(_CLIP) if clip is None else [clip[name] for name in _CLIP]


def _line(cells: Sequence[Any]) -> str:
    buffer = io.StringIO(newline="")
    # Ends of line as in RFC 4180; with another, the writer leaves a lone carriage return in a cell unquoted.
    csv.writer(buffer, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return defused(value)
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value
