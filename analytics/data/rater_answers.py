"""What some raters answered, and what everybody answered to the same: the arrays behind the quality of raters.

Raters' own judgments are those of regular tasks that stand, excluded ones among them; others' are those that count and
name their rater. Nothing of a rater who has withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analytics.data.counted_judgments import FIRST_VOTE_TIME_SQL
from analytics.data.postgres import array_columns, fetch_rows
from analytics.data.questions import MeasuredQuestion
from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from annotation.models import Task
from annotation.rating import counted

# Rows of tasks or judgments that are read in one go.
_AT_ONCE = 200_000

_OF_RATERS = f"""j.rater_id = ANY(%(raters)s) AND {counted.STANDING}
  AND j.rater_id <> ALL (ARRAY(SELECT w.rater_id FROM annotation_raterwithdrawal w WHERE w.rater_id = ANY(%(raters)s)))
"""
_OF_STUDY = f"""j.study_id = %(study)s AND j.id > %(after)s AND j.rater_id IS NOT NULL AND {counted.STANDING}
ORDER BY j.id LIMIT {_AT_ONCE}
"""
# Seconds that the playback log has of all clips together.
_JUDGMENTS = f"""
SELECT j.rater_id, j.id, j.task_id, date_part('epoch', {FIRST_VOTE_TIME_SQL}),
       coalesce(date_part('epoch', j.submitted_at - j.started_at), 'NaN'),
       CASE WHEN j.telemetry IS NULL THEN 'NaN'::float8 ELSE coalesce(
           (SELECT sum(greatest(0, (part ->> 1)::float8 - (part ->> 0)::float8))
            FROM jsonb_each(CASE jsonb_typeof(j.telemetry -> 'heard') WHEN 'object' THEN j.telemetry -> 'heard'
                            ELSE '{{{{}}}}' END) AS clip,
                 jsonb_array_elements(CASE jsonb_typeof(clip.value) WHEN 'array' THEN clip.value ELSE '[]' END) AS part
            WHERE jsonb_typeof(part) = 'array'), 'NaN')::float8 END,
       (cardinality(j.codes) > 0)::int::int2, (NOT j.excluded)::int::int2, coalesce(j.presentation[1], -1)::int2
FROM annotation_judgment j WHERE {{which}}
"""
_JUDGMENT_TYPES = {
    "rater": "int8", "id": "int8", "task": "int8", "at": "float8", "seconds": "float8", "heard": "float8",
    "coded": "int2", "counted": "int2", "shown_first": "int2",
}  # fmt: skip

_OWN = """
SELECT a.judgment_id, a.id, coalesce(a.candidate_id, 0), ({value})::float8, coalesce(a.confidence, 'NaN')::float8
FROM {source} WHERE a.question_id = ANY(%(questions)s) AND {value} IS NOT NULL
"""
_FEW = "unnest(%(judgments)s::bigint[]) AS chosen (id) JOIN annotation_answer a ON a.judgment_id = chosen.id"
_RANGE = "(SELECT * FROM annotation_answer WHERE judgment_id BETWEEN %(low)s AND %(high)s) AS a"
_OWN_TYPES = {
    "judgment": "int8",
    "id": "int8",
    "candidate": "int8",
    "value": "float8",
    "confidence": "float8",
}

_ANSWERS = """
SELECT a.task_id, coalesce(a.candidate_id, 0), ({value})::float8
FROM unnest(%(tasks)s::bigint[]) AS chosen (id)
JOIN annotation_answer a ON a.task_id = chosen.id AND a.question_id = ANY(%(questions)s) AND a.counted
WHERE {value} IS NOT NULL{named}
"""
_ANSWER_TYPES = {"task": "int8", "candidate": "int8", "value": "float8"}
_NAMED = (
    " AND EXISTS (SELECT FROM annotation_judgment j WHERE j.id = a.judgment_id AND j.rater_id IS NOT NULL)"
)
_NAMELESS = """
SELECT EXISTS (SELECT FROM annotation_judgment j WHERE j.rater_id IS NULL AND j.study_id = %(study)s)
"""

_TASKS = f"""
SELECT t.id, coalesce(v.clip_id, 0), coalesce(v.reference_clip_id, 0)
FROM {{which}} JOIN annotation_itemversion v ON v.id = t.item_version_id WHERE {counted.REGULAR_TASK} ORDER BY t.id
"""
_TASK_TYPES = {"id": "int8", "clip": "int8", "reference_clip": "int8"}
_ALL_TASKS = "(SELECT * FROM annotation_task WHERE study_id = %(study)s) AS t"
_JUDGED = "unnest(%(tasks)s::bigint[]) AS chosen (id) JOIN annotation_task t ON t.id = chosen.id"
_SLOTS = """
SELECT k.task_id, k.slot::int2, k.candidate_id, coalesce(c.system_id, 0), coalesce(c.clip_id, 0)
FROM unnest(%(tasks)s::bigint[]) AS chosen (id)
JOIN annotation_taskcandidate k ON k.task_id = chosen.id JOIN annotation_candidate c ON c.id = k.candidate_id
"""
_SLOT_TYPES = {"task": "int8", "slot": "int2", "candidate": "int8", "system": "int8", "clip": "int8"}
_DURATIONS = """
SELECT p.id, p.duration_s::float8 FROM annotation_clip p WHERE p.id = ANY(%(clips)s::bigint[]) ORDER BY p.id
"""

_WITHDRAWN = """
SELECT w.rater_id FROM annotation_raterwithdrawal w JOIN annotation_rater r ON r.id = w.rater_id
WHERE r.study_id = %(study)s
"""

_CHECKS = f"""
SELECT c.rater_id, c.kind, count(*), count(c.passed), count(*) FILTER (WHERE c.passed), avg(c.score)
FROM annotation_checkoutcome c WHERE c.rater_id = ANY(%(raters)s) AND c.kind <> {Task.Kind.TRAINING:d}
  AND NOT EXISTS (SELECT FROM annotation_raterwithdrawal w WHERE w.rater_id = c.rater_id)
GROUP BY c.rater_id, c.kind
"""

_CODES = f"""
SELECT j.rater_id, code, count(*) FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
CROSS JOIN LATERAL unnest(j.codes) AS code
WHERE {{which}} AND {counted.STANDING} AND j.codes <> '{{{{}}}}' AND {counted.REGULAR_TASK}
  AND {counted.NOT_WITHDRAWN}
GROUP BY j.rater_id, code ORDER BY count(*) DESC, code
"""


@dataclass(frozen=True, eq=False)
class Tasks:
    """Regular tasks, by ascending id. system: (n, 2) of the first two slots, 0 for none. sound: seconds of what a task
    plays. candidate, candidate_system: those of their slots, by ascending candidate."""

    id: IntArray
    system: IntArray
    sound: FloatArray
    candidate: IntArray
    candidate_system: IntArray

    def places(self, tasks: IntArray) -> tuple[IntArray, BoolArray]:
        """Of these tasks the places among them, and whether they are there."""
        return _places(self.id, tasks)


@dataclass(frozen=True, eq=False)
class Judgments:
    """A row per judgment, rater by rater in the order of time. task: its place in `Tasks`; sound, heard: seconds, NaN
    for what no log says; shown_first: the slot that stood first, -1 where unknown."""

    rater: IntArray
    id: IntArray
    task: IntArray
    seconds: FloatArray
    heard: FloatArray
    coded: IntArray
    counted: IntArray
    shown_first: IntArray
    sound: FloatArray

    def rows(self, rater: int) -> slice:
        start, stop = np.searchsorted(self.rater, [rater, rater + 1])
        return slice(int(start), int(stop))


@dataclass(frozen=True, eq=False)
class OwnAnswers:
    """A row per answer, in the order of the judgments. judgment: its row in `Judgments`. candidate: 0 for none."""

    judgment: IntArray
    candidate: IntArray
    value: FloatArray
    confidence: FloatArray

    def of(self, judgments: slice) -> OwnAnswers:
        """Of consecutive judgments, whose rows are still counted as in all."""
        start, stop = np.searchsorted(self.judgment, [judgments.start, judgments.stop])
        part = slice(int(start), int(stop))
        return OwnAnswers(self.judgment[part], self.candidate[part], self.value[part], self.confidence[part])


# The places of values among those that are compared.
Codes = Callable[[FloatArray], IntArray]


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """What everybody answered to one question, by what is answered about (a task, or a candidate of one). counts: (U,
    V) how often each value was given; total, n: sum and number of all answers, those without a code among them.
    task: the place of each unit's task."""

    key: IntArray
    task: IntArray
    counts: IntArray
    total: FloatArray
    n: IntArray

    def places(self, tasks: IntArray, candidates: IntArray) -> tuple[IntArray, BoolArray]:
        return _places(self.key, _unit_key(tasks, candidates))

    def pairs_of(self, tasks: Tasks) -> SystemPairs:
        """Of comparisons, whose first two values are the sides; computed once."""
        if "pairs" not in self.__dict__:
            object.__setattr__(self, "pairs", _system_pairs(self, tasks))
        pairs: SystemPairs = self.__dict__["pairs"]
        return pairs


@dataclass(frozen=True, eq=False)
class SystemPairs:
    """Of comparisons: the pair of systems that each task compares, and whether its first slot has the one with the
    lower id; by pair, how often that one won and how many votes there are."""

    of_task: IntArray
    lower_first: BoolArray
    wins: FloatArray
    votes: FloatArray


def _system_pairs(units: UnitCounts, tasks: Tasks) -> SystemPairs:
    low, high = tasks.system.min(axis=1, initial=2**31), tasks.system.max(axis=1, initial=0)
    names, of_task = np.unique(low * (high.max(initial=0) + 1) + high, return_inverse=True)
    lower_first = tasks.system[:, 0] <= tasks.system[:, 1]
    won = np.where(lower_first[units.task], units.counts[:, 0], units.counts[:, 1])
    pair = of_task[units.task]
    return SystemPairs(
        of_task, lower_first, np.bincount(pair, weights=won, minlength=len(names)).astype(np.float64),
        np.bincount(pair, weights=units.counts[:, :2].sum(axis=1), minlength=len(names)).astype(np.float64),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answered:
    """What some raters, or all, answered, and what everybody answered to the same; `own` and `units` by question.
    codes: feedback codes by rater. withdrawn: raters whose own judgments are not to be looked at."""

    tasks: Tasks
    judgments: Judgments
    own: Sequence[OwnAnswers]
    units: Sequence[UnitCounts]
    codes: Mapping[int, Mapping[str, int]]
    withdrawn: frozenset[int] = frozenset()


@dataclass(frozen=True)
class CheckCounts:
    """Of one kind of hidden check: how many, how many of them expect an answer, how many got it, and the mean score."""

    n: int
    expected: int
    passed: int
    score: float | None


def tasks_of_study(study: int) -> Tasks:
    return _tasks(array_columns(_TASKS.format(which=_ALL_TASKS), _TASK_TYPES, study=study))


def tasks_of_raters(raters: Sequence[int]) -> Tasks:
    """The tasks that these raters have judged."""
    judged = f"SELECT DISTINCT j.task_id FROM annotation_judgment j WHERE {_OF_RATERS}"
    tasks = array_columns(judged, {"id": "int8"}, raters=list(raters))["id"]
    return _tasks(array_columns(_TASKS.format(which=_JUDGED), _TASK_TYPES, tasks=_array(tasks)))


def _tasks(read: dict[str, Any]) -> Tasks:
    ids = read["id"]
    system, sound = np.zeros((len(ids), 2), dtype=np.int64), np.zeros(len(ids))
    candidates, systems = [], []
    for start, part in zip(range(0, len(ids), _AT_ONCE), _parts(ids), strict=True):
        slots = array_columns(_SLOTS, _SLOT_TYPES, tasks=_array(part))
        place = np.searchsorted(ids, slots["task"])
        for n in (0, 1):
            here = slots["slot"] == n
            system[place[here], n] = slots["system"][here]
        candidates.append(slots["candidate"])
        systems.append(slots["system"])
        of_items = [read[name][start : start + len(part)] for name in ("clip", "reference_clip")]
        rows = np.arange(start, start + len(part))
        _add_sound(sound, np.concatenate([place, rows, rows]), np.concatenate([slots["clip"], *of_items]))
    candidate, first = np.unique(np.concatenate([*candidates, []]).astype(np.int64), return_index=True)
    return Tasks(ids, system, sound, candidate, np.concatenate([*systems, []]).astype(np.int64)[first])


def _add_sound(sound: FloatArray, task: IntArray, clip: IntArray) -> None:
    """A clip that a task plays twice counts once; 0 is none."""
    if not clip.any():
        return
    pairs = np.unique(np.stack([task, clip], axis=1)[clip > 0], axis=0)
    durations = array_columns(
        _DURATIONS, {"id": "int8", "seconds": "float8"}, clips=_array(np.unique(pairs[:, 1]))
    )
    place, known = _places(durations["id"], pairs[:, 1])
    np.add.at(sound, pairs[known, 0], durations["seconds"][place[known]])


def of_raters(
    study: int, questions: Sequence[tuple[MeasuredQuestion, Codes, int]], raters: Sequence[int]
) -> Answered:
    """What some raters answered, and everybody to the same."""
    tasks = tasks_of_raters(raters)
    read = array_columns(_JUDGMENTS.format(which=_OF_RATERS), _JUDGMENT_TYPES, raters=list(raters))
    judgments, _rank = _in_order(_regular(read, tasks), tasks)
    row = _Rows(judgments.id)
    own = [
        _answers_in_order(
            _own_answers(question, _FEW, row, judgments=_array(judgments.id)), np.arange(len(judgments.id))
        )
        for question, _codes, _values in questions
    ]
    units = [
        unit_counts(study, question, tasks, codes, values=values) for question, codes, values in questions
    ]
    return Answered(tasks, judgments, own, units, code_counts(study=study, raters=raters))


def of_study(study: int, questions: Sequence[tuple[MeasuredQuestion, Codes, int]]) -> Answered:
    """What everybody answered, by one pass over judgments and answers in the order of their storage: some 100 bytes a
    judgment."""
    tasks = tasks_of_study(study)
    blocks: list[dict[str, Any]] = []
    answers: list[list[dict[str, Any]]] = [[] for _ in questions]
    after, n = 0, 0
    while True:
        read = array_columns(_JUDGMENTS.format(which=_OF_STUDY), _JUDGMENT_TYPES, study=study, after=after)
        if not len(read["id"]):
            break
        low, after = int(read["id"].min()), int(read["id"].max())
        block = _regular(read, tasks)
        rows = _Rows(block["id"], start=n)
        for (question, _codes, _values), found in zip(questions, answers, strict=True):
            found.append(_own_answers(question, _RANGE, rows, low=low, high=after))
        blocks.append(block)
        n += len(block["id"])
    withdrawn = [pk for (pk,) in fetch_rows(_WITHDRAWN, study=study)]
    judgments, rank = _in_order(_joined(blocks, _JUDGMENT_TYPES), tasks)
    own, units = [], []
    for (_question, codes, values), found in zip(questions, answers, strict=True):
        mine = _answers_in_order(_joined(found, _OWN_TYPES), rank)
        counted_ones = judgments.counted[mine.judgment] == 1
        task = judgments.task[mine.judgment][counted_ones]
        units.append(
            _units(task, mine.candidate[counted_ones], mine.value[counted_ones], codes, max(values, 1))
        )
        own.append(mine)
    return Answered(tasks, judgments, own, units, code_counts(study=study), frozenset(withdrawn))


class _Rows:
    """From judgments' ids to their rows, counted from `start`."""

    def __init__(self, ids: IntArray, start: int = 0) -> None:
        self._order, self._start = np.argsort(ids, kind="stable"), start
        self._ids = ids[self._order]

    def __call__(self, ids: IntArray) -> tuple[IntArray, BoolArray]:
        place, known = _places(self._ids, ids)
        return (self._order[place] if len(self._ids) else place) + self._start, known


def _regular(read: dict[str, Any], tasks: Tasks) -> dict[str, Any]:
    """Judgments of regular tasks, which are named by their places."""
    place, regular = tasks.places(read["task"])
    return {
        **{name: column[regular] for name, column in read.items()},
        "task": place[regular].astype(np.int32),
    }


def _in_order(columns: dict[str, Any], tasks: Tasks) -> tuple[Judgments, IntArray]:
    """Rater by rater in the order of time; and the new row of each old one."""
    order = np.lexsort((columns["id"], columns["at"], columns["rater"]))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    del columns["at"]
    ordered = {name: columns.pop(name)[order] for name in list(columns)}  # one after another, for their size
    return Judgments(**ordered, sound=tasks.sound[ordered["task"]]), rank


def _own_answers(question: MeasuredQuestion, source: str, rows: _Rows, **params: Any) -> dict[str, Any]:
    """With the rows of their judgments instead of the ids."""
    read = _of_question(_OWN, _OWN_TYPES, question, source=source, **params)
    row, known = rows(read["judgment"])
    return {**{name: column[known] for name, column in read.items()}, "judgment": row[known]}


def _answers_in_order(columns: dict[str, Any], rank: IntArray) -> OwnAnswers:
    row = rank[columns["judgment"]]
    order = np.lexsort((columns["id"], row))
    candidate, value, confidence = (columns.pop(name)[order] for name in ("candidate", "value", "confidence"))
    return OwnAnswers(row[order], candidate, value, confidence)


def _joined(blocks: list[dict[str, Any]], types: dict[str, str]) -> dict[str, Any]:
    """Each block is let go as its columns are joined."""
    if not blocks:
        return {
            name: np.zeros(0, dtype=np.float64 if kind == "float8" else np.int64)
            for name, kind in types.items()
        }
    return {name: np.concatenate([block.pop(name) for block in blocks]) for name in types}


def unit_counts(
    study: int, question: MeasuredQuestion, tasks: Tasks, codes: Codes, *, values: int
) -> UnitCounts:
    """`codes` tells the place of an answer among the `values` that are compared, below 0 for none."""
    ((nameless,),) = fetch_rows(_NAMELESS, study=study)
    read = [
        _of_question(
            _ANSWERS, _ANSWER_TYPES, question, named=_NAMED if nameless else "", tasks=_array(part)
        )
        for part in _parts(tasks.id)
    ]  # fmt: skip
    columns = _joined(read, _ANSWER_TYPES)
    place = np.searchsorted(tasks.id, columns["task"])
    return _units(place, columns["candidate"], columns["value"], codes, max(values, 1))


def _units(task: IntArray, candidate: IntArray, value: FloatArray, codes: Codes, width: int) -> UnitCounts:
    key, first, unit = np.unique(_unit_key(task, candidate), return_index=True, return_inverse=True)
    code = codes(value)
    some = code >= 0
    counts = np.bincount(unit[some] * width + code[some], minlength=len(key) * width)
    total = np.bincount(unit, weights=value, minlength=len(key)).astype(np.float64)
    n = np.bincount(unit, minlength=len(key))
    return UnitCounts(
        key, task[first], counts.reshape(len(key), width).astype(np.int32), total, n.astype(np.int32)
    )


def _unit_key(task: IntArray, candidate: IntArray) -> IntArray:
    """Ascending with the task; candidates below 2^38, of up to 2^25 tasks."""
    return (task.astype(np.int64) << np.int64(38)) + candidate


def check_counts(raters: Sequence[int]) -> dict[int, dict[int, CheckCounts]]:
    """By rater and kind of task."""
    found: dict[int, dict[int, CheckCounts]] = {}
    for rater, kind, *counts in fetch_rows(_CHECKS, raters=list(raters)):
        found.setdefault(rater, {})[kind] = CheckCounts(*counts)
    return found


def code_counts(*, study: int, raters: Sequence[int] | None = None) -> dict[int, dict[str, int]]:
    """By rater and code, the most frequent first; of all raters of the study for None."""
    found: dict[int, dict[str, int]] = {}
    which = (
        "j.study_id = %(study)s AND j.rater_id IS NOT NULL"
        if raters is None
        else "j.rater_id = ANY(%(raters)s)"
    )
    for rater, code, n in fetch_rows(_CODES.format(which=which), study=study, raters=list(raters or ())):
        found.setdefault(rater, {})[code] = n
    return found


def _of_question(
    sql: str, types: dict[str, str], question: MeasuredQuestion, *, named: str = "", source: str = "",
    **params: Any,
) -> dict[str, Any]:  # fmt: skip
    select = sql.format(value=question.value_sql, named=named, source=source)
    return array_columns(select, types, **params, questions=list(question.ids))


def _places(among: IntArray, wanted: IntArray) -> tuple[IntArray, BoolArray]:
    """Of what is `wanted` the places `among` ascending ids, and whether each is there."""
    if not len(among):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    place = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    return place, among[place] == wanted


def _array(ids: IntArray) -> str:
    """As a parameter; a list would be written value by value."""
    return "{" + ",".join(map(str, ids.tolist())) + "}"


def _parts(ids: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]
