"""The rows of a page or of a file: for ids in order, the plain value of each column.

A value is what JSON can hold. Pages draw it by the column's kind; CSV files write it as text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analytics.browse.columns import Column, Table
from analytics.browse.query import Query
from analytics.browse.tables import ITEMS, JUDGMENTS, KINDS, ORIGINS, SYSTEM_NAMES, TASK_STATES
from analytics.data.postgres import fetch_rows
from analytics.data.questions import MeasuredQuestion, measured_questions
from analytics.judgments import readable
from analytics.judgments.readable import ReadableJudgment
from annotation.listening.signed_clips import CLIP_FIELDS
from annotation.models import Judgment, Study
from annotation.rating.rules.counterbalancing import ALPHABET
from scoring.metrics.contract import USUAL_OUTPUTS

_NAMES: Mapping[str, Mapping[int, str]] = {
    "kind": {value: name for name, _label, value in KINDS},
    "task_state": {value: name for name, _label, value in TASK_STATES},
    "item_state": {1: "active", 2: "withdrawn"},
    "origin": {value: name for name, _label, value in ORIGINS},
}


@dataclass(frozen=True)
class RowClip:
    """A clip that a row plays. `name` is what the player calls it."""

    name: str
    label: str
    seconds: float


@dataclass(frozen=True)
class DataRow:
    """`values`: by column. `item`: whose page the row links to; `task`: whose clips it plays (None: the item's). Rows
    about a task have the item's name, and the systems that it shows."""

    id: int
    item: int
    task: int | None
    name: str
    item_name: str
    systems: Sequence[str]
    values: Mapping[str, Any]
    clips: tuple[RowClip, ...] = ()
    n_wanted: int = 0
    judgment: ReadableJudgment | None = None


@dataclass(frozen=True)
class RowContext:
    """What the rows of one study are shown with, looked up once."""

    study: Study
    leading: MeasuredQuestion | None = None
    questions: Sequence[MeasuredQuestion] = field(default_factory=tuple)

    @classmethod
    def of(cls, study: Study, *, language: str = "en") -> RowContext:
        questions = measured_questions(study, language=language)
        return cls(study, questions[0] if questions else None, questions)


def load_rows(context: RowContext, query: Query, ids: Sequence[int], *, clips: bool = True) -> list[DataRow]:
    """The rows with these ids, in their order; of those that are gone, none. `clips`: with what each plays."""
    table, columns = query.shape, query.shown_columns
    cells = _cells(context, table, columns, ids)
    computed = {column.key: by_id for column in columns if (by_id := _scores(table, column, cells))}
    clips_by_row = _clips(table, cells) if clips and any(one.kind == "clips" for one in columns) else {}
    judgments = _readable(columns, ids) if table.is_judgments else {}
    rows = []
    for pk in ids:
        if pk not in cells:
            continue
        item, task, name, item_name, systems, n_wanted, *values = cells[pk]
        plain = {
            column.key: _plain(column, value)
            for column, value in zip([one for one in columns if one.value], values, strict=True)
        }
        for key, by_id in computed.items():
            plain[key] = by_id.get(pk)
        if pk in judgments:
            plain |= _judgment_values(columns, judgments[pk])
        played = clips_by_row.get(pk, ())
        about = (item_name or "", systems or ())
        rows.append(DataRow(pk, item, task, name, *about, plain, played, n_wanted or 0, judgments.get(pk)))
    return rows


def _cells(
    context: RowContext, table: Table, columns: Sequence[Column], ids: Sequence[int]
) -> dict[int, Sequence[Any]]:
    own = {
        "items": "s.item_id, NULL::bigint, s.name, NULL, NULL::text[], s.n_wanted",
        "tasks": f"s.item_id, s.task_id, s.name, i.external_id, {SYSTEM_NAMES}, t.overlap::int",
        "judgments": f"v.item_id, j.task_id, t.external_id, i.external_id, {SYSTEM_NAMES}, NULL::int",
        "raters": "0::bigint, NULL::bigint, s.name, NULL, NULL::text[], NULL::int",
    }[table.name]
    chosen = ", ".join([table.key, own, *(one.value for one in columns if one.value)])
    sql = f"SELECT {chosen} FROM {table.detail} WHERE {table.scope} AND {table.key} = ANY(%(ids)s)"
    leading = list(context.leading.ids) if context.leading else []
    rows = fetch_rows(sql, study=context.study.pk, ids=list(ids), leading=leading)
    return {row[0]: row[1:] for row in rows}


def _plain(column: Column, value: Any) -> Any:
    if column.kind in _NAMES:
        return _NAMES[column.kind].get(value, value)
    if column.kind in ("counts", "votes", "figure"):
        return _json(value) or {}
    if column.kind == "date" and value is not None:
        return value.isoformat()
    if column.kind in ("tags", "codes", "strata", "texts"):
        return list(value or ())
    return value


def _json(value: Any) -> Any:
    import json

    return json.loads(value) if isinstance(value, str) else value


def _judgment_values(columns: Iterable[Column], judgment: ReadableJudgment) -> dict[str, Any]:
    kinds = {column.kind: column.key for column in columns}
    values: dict[str, Any] = {}
    if key := kinds.get("answer"):
        values[key] = readable.answer_lines(judgment.answers)
    if key := kinds.get("heard"):
        values[key] = [f"{clip.system or clip.title}: {clip.amount}" for clip in judgment.heard]
    return values


def _readable(columns: Iterable[Column], ids: Sequence[int]) -> dict[int, ReadableJudgment]:
    if not any(column.kind in ("answer", "heard") for column in columns):
        return {}
    judgments = Judgment.objects.filter(pk__in=ids).select_related("rater", "task")
    return {one.judgment.pk: one for one in readable.readable_judgments(list(judgments))}


# ── Clips of rows, and scores of their candidates ────────────────────────────

# The letter of a candidate is its place among all of the row's, with a clip or without: the player's names are these.
_CANDIDATES_OF_TASKS = """
SELECT k.task_id, k.slot, y.name, c.clip_id IS NOT NULL, p.duration_s, c.id
FROM annotation_taskcandidate k JOIN annotation_candidate c ON c.id = k.candidate_id
JOIN annotation_system y ON y.id = c.system_id LEFT JOIN annotation_clip p ON p.id = c.clip_id
WHERE k.task_id = ANY(%(of)s) ORDER BY k.task_id, k.slot
"""
_CANDIDATES_OF_ITEMS = """
SELECT i.id, row_number() OVER (PARTITION BY i.id ORDER BY y.name, c.take, c.id) - 1, y.name,
       c.clip_id IS NOT NULL, p.duration_s, c.id
FROM annotation_item i JOIN annotation_candidate c ON c.item_version_id = i.current_version_id
JOIN annotation_system y ON y.id = c.system_id LEFT JOIN annotation_clip p ON p.id = c.clip_id
WHERE i.id = ANY(%(of)s) ORDER BY i.id, y.name, c.take, c.id
"""
_OWN_CLIPS_OF_TASKS = """
SELECT t.id, r.duration_s, o.duration_s FROM annotation_task t JOIN annotation_itemversion v ON v.id = t.item_version_id
LEFT JOIN annotation_clip r ON r.id = v.reference_clip_id LEFT JOIN annotation_clip o ON o.id = v.clip_id
WHERE t.id = ANY(%(of)s) AND (r.id IS NOT NULL OR o.id IS NOT NULL)
"""
_OWN_CLIPS_OF_ITEMS = """
SELECT i.id, r.duration_s, o.duration_s FROM annotation_item i
JOIN annotation_itemversion v ON v.id = i.current_version_id
LEFT JOIN annotation_clip r ON r.id = v.reference_clip_id LEFT JOIN annotation_clip o ON o.id = v.clip_id
WHERE i.id = ANY(%(of)s) AND (r.id IS NOT NULL OR o.id IS NOT NULL)
"""
_SCORES = """
SELECT c.candidate_id, x.key, c.output, c.value FROM scoring_score c JOIN scoring_scorer x ON x.id = c.scorer_id
WHERE c.candidate_id = ANY(%(candidates)s) AND c.other_id IS NULL AND c.value IS NOT NULL
ORDER BY c.scorer_id DESC, c.output
"""


def _owners(table: Table, cells: Mapping[int, Sequence[Any]]) -> dict[int, int]:
    """By row: the item or the task whose candidates it shows."""
    return {pk: row[0] if table is ITEMS else row[1] for pk, row in cells.items() if row[0]}


def _candidates(table: Table, owners: Iterable[int]) -> dict[int, list[tuple[int, str, bool, float, int]]]:
    sql = _CANDIDATES_OF_ITEMS if table is ITEMS else _CANDIDATES_OF_TASKS
    by_owner: dict[int, list[tuple[int, str, bool, float, int]]] = defaultdict(list)
    for owner, *candidate in fetch_rows(sql, of=sorted(set(owners))):
        by_owner[owner].append(tuple(candidate))
    return by_owner


def _clips(table: Table, cells: Mapping[int, Sequence[Any]]) -> dict[int, tuple[RowClip, ...]]:
    owners = _owners(table, cells)
    sql = _OWN_CLIPS_OF_ITEMS if table is ITEMS else _OWN_CLIPS_OF_TASKS
    clips: dict[int, list[RowClip]] = defaultdict(list)
    for owner, *seconds in fetch_rows(sql, of=sorted(set(owners.values()))):
        for name, length in zip(CLIP_FIELDS.values(), seconds, strict=True):
            if length is not None:
                clips[owner].append(RowClip(name, name, length))
    for owner, rows in _candidates(table, owners.values()).items():
        for number, (_slot, system, has_clip, length, _pk) in enumerate(rows):
            if has_clip:
                clips[owner].append(RowClip(player_name(number), system, length))
    return {pk: tuple(clips[owner]) for pk, owner in owners.items() if owner in clips}


def player_name(number: int) -> str:
    """As `annotation.listening.study_clips` names a candidate."""
    return ALPHABET[number].lower() if number < len(ALPHABET) else f"c{number}"


def _scores(table: Table, column: Column, cells: Mapping[int, Sequence[Any]]) -> dict[int, Any] | None:
    if column.kind != "scores" or table is JUDGMENTS:
        return None
    owners = _owners(table, cells)
    candidates = _candidates(table, owners.values())
    ids = [one[-1] for rows in candidates.values() for one in rows]
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    for candidate, key, output, value in fetch_rows(_SCORES, candidates=ids):
        name = key if output in USUAL_OUTPUTS else f"{key} {output}"
        scores[candidate].setdefault(name, round(value, 4))
    return {
        pk: {
            system: scores[candidate]
            for _slot, system, _has, _length, candidate in candidates.get(owner, ())
            if scores.get(candidate)
        }
        for pk, owner in owners.items()
    }


# ── As text ──────────────────────────────────────────────────────────────────


def as_text(value: Any) -> str:
    """A value in a CSV file."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case {"value": figure, "n": int()}:
            return as_text(figure)
        case dict():
            return "; ".join(f"{key}: {as_text(one)}" for key, one in value.items())
        case list() | tuple():
            return "; ".join(as_text(one) for one in value)
        case float():
            return f"{value:g}"
        case _:
            return str(value)
