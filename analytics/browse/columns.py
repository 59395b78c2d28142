"""Columns and filters of the tables of a study's data: what each is called, how it is read, sorted, filtered and shown.

The pages, the filter form, the CSV files and the API all follow from these declarations. SQL names a task's or an
item's summary `s`, a judgment `j`; %(study)s and what `Facts` holds are always there.

A predicate comes in two forms where they differ: `row` looks at one row that is at hand, `rows` finds the rows by an
index. Where an index holds them in the order of the table, `walk` is how to say so to the planner. Texts are English;
pages translate them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from analytics.browse.facts import Facts
from analytics.data.postgres import fetch_rows
from annotation.errors import FieldProblem
from annotation.models import Question

MAX_TEXT = 200
_WORDS = re.compile(r"\w+")


# The order of a table that is not sorted by a column.
KEY = "key"


@dataclass(frozen=True)
class Predicate:
    """`task`: it looks at the summary of a judgment's task. `walk`: a condition that every row that matches meets, and
    that an index holds in the order `walk_order`: the SQL of a sort, or KEY. `bound`: it is about the sorted values.
    `words`: it searches texts, which may take longer."""

    row: str
    rows: str = ""
    task: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    walk: str = ""
    walk_order: str = ""
    bound: bool = False
    words: bool = False

    @property
    def as_rows(self) -> str:
        return self.rows or self.row


Problems = list[FieldProblem]
Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Filter(ABC):
    """`names`: the parameters that it reads from an address. `group`: under which heading the form has it.
    `walk_order`: the order in which an index has what matches (`Predicate`)."""

    key: str
    label: str
    sql: str = ""
    task: bool = False
    group: str = ""
    help: str = ""
    walk_order: str = ""

    kind = "text"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.key,)

    @abstractmethod
    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        """The conditions that the values request; adds a problem for each invalid value."""

    def _first(self, values: Values, name: str = "") -> str:
        return next((value for value in values.get(name or self.key, ()) if value), "")


@dataclass(frozen=True)
class Choice(Filter):
    """Any of some values: `options` has what stands in the address, the label, and the SQL value or condition.
    `walks`: by option, the condition of the index that has it in the order `walk_order`."""

    options: tuple[tuple[str, str, Any], ...] = ()
    walks: Mapping[str, str] = field(default_factory=dict)

    kind = "choice"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        stored = {name: value for name, _label, value in self.options}
        chosen = [value for value in values.get(self.key, ()) if value]
        if unknown := [value for value in chosen if value not in stored]:
            known = ", ".join(stored)
            problems.append(FieldProblem(self.key, f"There is no “{unknown[0]}”; there are {known}."))
        stored_values = [stored[value] for value in chosen if value in stored]
        if not stored_values:
            return []
        walk = self.walks.get(chosen[0], "") if len(chosen) == 1 else ""
        if self.sql:
            sql = f"{self.sql} = ANY(%({self.key})s)"
            params = {self.key: stored_values}
        else:
            sql, params = "(" + " OR ".join(stored_values) + ")", {}
        return [Predicate(sql, task=self.task, params=params, walk=walk, walk_order=self.walk_order)]


@dataclass(frozen=True)
class Among(Filter):
    """Any of the study's own names: systems, codes, strata, raters. `source` names the mapping of `Facts`; `rows` finds
    the rows by an index (`Predicate`)."""

    source: str = ""
    rows: str = ""
    type: str = "bigint"

    kind = "choice"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        ids_by_name = getattr(facts, self.source)
        chosen = [value for value in values.get(self.key, ()) if value]
        if unknown := [value for value in chosen if value not in ids_by_name]:
            problems.append(FieldProblem(self.key, f"This study has no “{unknown[0]}”."))
        ids = [
            ids_by_name[value] if self.type == "bigint" else value for value in chosen if value in ids_by_name
        ]
        if not ids:
            return []
        return [Predicate(self.sql, self.rows, task=self.task, params={self.key: ids})]


@dataclass(frozen=True)
class Strata(Filter):
    """`strata.NAME=value`, all of which must match."""

    kind = "strata"

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        chosen = [
            f"{name.removeprefix('strata.')}={one[0]}"
            for name, one in values.items()
            if name.startswith("strata.") and one and one[0]
        ]
        return [Predicate(self.sql, task=self.task, params={self.key: chosen})] if chosen else []


@dataclass(frozen=True)
class Range(Filter):
    """`NAME.min` and `NAME.max`, both inclusive. `walk`: the condition of the index that holds every positive value in
    the order `walk_order`. `least`: the least value there is, where `sql` has a lower one for an unknown value."""

    step: str = "any"
    walk: str = ""
    least: float | None = None

    kind = "range"

    @property
    def names(self) -> tuple[str, ...]:
        return (f"{self.key}.min", f"{self.key}.max")

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        bounds: dict[str, float] = {}
        for name in self.names:
            text = self._first(values, name)
            if not text:
                continue
            number = read_number(text)
            if number is None:
                problems.append(FieldProblem(name, f"“{text[:20]}” is no number. Write one such as 0.5."))
                continue
            bounds[name] = number
        least = self.names[0]
        if self.least is not None and bounds:
            bounds[least] = max(bounds.get(least, self.least), self.least)
        predicates = []
        for name, number in bounds.items():
            param = name.replace(".", "_")
            condition = f"{self.sql} {'>=' if name == least else '<='} %({param})s"
            walk = condition
            if self.walk:
                walk = self.walk if name == least and number > 0 else ""
            predicates.append(
                Predicate(
                    condition, task=self.task, params={param: number}, walk=walk, walk_order=self.walk_order,
                    bound=not self.walk,
                )
            )  # fmt: skip
        return predicates


@dataclass(frozen=True)
class Days(Filter):
    """`NAME.from` and `NAME.to`: days in UTC, both inclusive."""

    kind = "days"

    @property
    def names(self) -> tuple[str, ...]:
        return (f"{self.key}.from", f"{self.key}.to")

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        predicates = []
        for name, sign, later in zip(self.names, (">=", "<"), (0, 1), strict=True):
            text = self._first(values, name)
            if not text:
                continue
            try:
                day = date.fromisoformat(text)
                moment = datetime.combine(day + timedelta(days=later), time.min, UTC)
            except (ValueError, OverflowError):
                problems.append(FieldProblem(name, f"“{text[:20]}” is no day. Write one such as 2026-03-31."))
                continue
            param = name.replace(".", "_")
            condition = f"{self.sql} {sign} %({param})s"
            predicates.append(
                Predicate(
                    condition, task=self.task, params={param: moment}, walk=condition, walk_order=self.walk_order,
                    bound=True,
                )
            )  # fmt: skip
        return predicates


@dataclass(frozen=True)
class Flag(Filter):
    """`yes` or `no`."""

    kind = "flag"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        text = self._first(values)
        if text not in ("", "yes", "no"):
            problems.append(FieldProblem(self.key, "Write yes or no."))
        if text not in ("yes", "no"):
            return []
        if text == "yes":
            return [Predicate(self.sql, task=self.task, walk=self.sql, walk_order=self.walk_order)]
        return [Predicate(f"NOT ({self.sql})", task=self.task)]


# By the item: its name, its texts, its answers in words.
_ITEM_WORDS = (
    "(SELECT x.words @@ to_tsquery('simple', %(words)s)"
    " FROM analytics_itemtext x WHERE x.item_id = s.item_id)"
)
_ITEMS_BY_WORDS = (
    "s.item_id IN (SELECT x.item_id FROM analytics_itemtext x"
    " WHERE x.study_id = %(study)s AND x.words @@ to_tsquery('simple', %(words)s))"
)
_ITEM_PARTS = "(SELECT {parts} FROM analytics_itemtext x WHERE x.item_id = s.item_id)"
_ITEMS_BY_PARTS = (
    "s.item_id IN (SELECT x.item_id FROM analytics_itemtext x WHERE x.study_id = %(study)s AND {parts})"
)
# As the index has it (`annotation.models.judgment`).
_COMMENT_WORDS = (
    "(NOT (j.comment = '') AND"
    " to_tsvector('simple'::regconfig, COALESCE(j.comment, '')) @@ to_tsquery('simple', %(comment)s))"
)


def _search_words(key: str, text: str, problems: Problems) -> list[str]:
    """The words of a search text. A text without words is rejected: it would match every row."""
    words = _WORDS.findall(text[:MAX_TEXT].lower())
    if len(text) > MAX_TEXT:
        problems.append(FieldProblem(key, f"Search for at most {MAX_TEXT} characters."))
    elif text and not words:
        problems.append(FieldProblem(key, "Search for a word or a number; signs are not looked for."))
    return words


@dataclass(frozen=True)
class NameText(Filter):
    """Any part of a name."""

    kind = "search"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        text = self._first(values)[:MAX_TEXT]
        pattern = re.sub(r"([\\%_])", r"\\\1", text)
        return [Predicate(self.sql, params={self.key: f"%{pattern}%"})] if text else []


@dataclass(frozen=True)
class ItemText(Filter):
    kind = "search"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        text = self._first(values)
        words = _search_words(self.key, text, problems)
        if not words:
            return []
        if facts.text_search == "parts" and all(len(word) >= 3 for word in words):
            params = {f"part_{n}": f"%{word.replace('_', chr(92) + '_')}%" for n, word in enumerate(words)}
            # One condition for each: no index finds LIKE ALL.
            parts = " AND ".join(f"x.text LIKE %({name})s" for name in params)
            row, rows = _ITEM_PARTS.format(parts=parts), _ITEMS_BY_PARTS.format(parts=parts)
            return [Predicate(row, rows, task=True, params=params, words=True)]
        params = {"words": prefix_query(words)}
        return [Predicate(_ITEM_WORDS, _ITEMS_BY_WORDS, task=True, params=params, words=True)]


@dataclass(frozen=True)
class CommentText(Filter):
    kind = "text"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        words = _search_words(self.key, self._first(values), problems)
        params = {"comment": prefix_query(words)}
        return [Predicate(_COMMENT_WORDS, params=params, words=True)] if words else []


def prefix_query(words: Sequence[str]) -> str:
    """All of the words, each as a beginning."""
    return " & ".join(f"'{word}':*" for word in words)


_SCORED = """
(SELECT coalesce(bool_or(true), false) FROM annotation_taskcandidate k
 JOIN scoring_score c ON c.candidate_id = k.candidate_id AND c.scorer_id = %(scorer)s
 WHERE k.task_id = s.task_id {bounds})
"""
_SCORED_ROWS = """
s.task_id IN (SELECT k.task_id FROM scoring_score c JOIN annotation_taskcandidate k ON k.candidate_id = c.candidate_id
 WHERE c.scorer_id = %(scorer)s AND c.output = ANY(%(outputs)s) {bounds})
"""
_SCORED_ITEM = """
(SELECT coalesce(bool_or(true), false) FROM annotation_item i
 JOIN annotation_candidate a ON a.item_version_id = i.current_version_id
 JOIN scoring_score c ON c.candidate_id = a.id AND c.scorer_id = %(scorer)s
 WHERE i.id = s.item_id {bounds})
"""
_SCORED_ITEM_ROWS = """
s.item_id IN (SELECT i.id FROM scoring_score c JOIN annotation_candidate a ON a.id = c.candidate_id
 JOIN annotation_item i ON i.current_version_id = a.item_version_id
 WHERE c.scorer_id = %(scorer)s AND c.output = ANY(%(outputs)s) {bounds})
"""


@dataclass(frozen=True)
class ScoreRange(Filter):
    """`scorer` (a version's digest) with `score.min` and `score.max`: of any candidate that a row shows."""

    of_item: bool = False

    kind = "score"

    @property
    def names(self) -> tuple[str, ...]:
        return ("scorer", "score.min", "score.max")

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        digest = self._first(values, "scorer")
        bounds = ""
        params: dict[str, Any] = {}
        for name, sign in (("score.min", ">="), ("score.max", "<=")):
            text = self._first(values, name)
            if text and (number := read_number(text)) is None:
                problems.append(FieldProblem(name, f"“{text[:20]}” is no number. Write one such as 0.5."))
            elif text:
                param = name.replace(".", "_")
                bounds += f" AND c.value {sign} %({param})s"
                params[param] = number
        if not digest:
            if bounds:
                problems.append(FieldProblem("scorer", "Choose the scorer whose scores these are."))
            return []
        if digest not in facts.scorers:
            problems.append(FieldProblem("scorer", "This study has no such scorer."))
            return []
        row, rows = (_SCORED_ITEM, _SCORED_ITEM_ROWS) if self.of_item else (_SCORED, _SCORED_ROWS)
        params |= {"scorer": facts.scorers[digest][1], "outputs": _outputs(facts.scorers[digest][1])}
        return [Predicate(row.format(bounds=bounds), rows.format(bounds=bounds), task=True, params=params)]


def _outputs(scorer_id: int) -> list[str]:
    """The names of a scorer's outputs, by one index lookup each: there are few."""
    outputs: list[str] = []
    while True:
        rows = fetch_rows(
            "SELECT min(output) FROM scoring_score WHERE scorer_id = %(scorer)s AND output > %(last)s",
            scorer=scorer_id, last=outputs[-1] if outputs else "",
        )  # fmt: skip
        if rows[0][0] is None or len(outputs) > 40:
            return outputs
        outputs.append(rows[0][0])


_ANSWERED = """
(SELECT coalesce(bool_or(true), false) FROM annotation_answer a
 WHERE a.judgment_id = j.id AND a.question_id = ANY(%(question)s) {bounds})
"""


@dataclass(frozen=True)
class AnswerRange(Filter):
    """`question` with `answer.min` and `answer.max` (a value, a place, or the number of a choice or an option), and the
    same of its confidence."""

    kind = "answer"

    @property
    def names(self) -> tuple[str, ...]:
        return ("question", "answer.min", "answer.max", "confidence.min", "confidence.max")

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        key = self._first(values, "question")
        if key and key not in facts.questions:
            known = ", ".join(facts.questions)
            problems.append(FieldProblem("question", f"There is no question “{key}”; there are {known}."))
            return []
        ids = (
            facts.questions[key][1] if key else [pk for _title, ids in facts.questions.values() for pk in ids]
        )
        bounds = ""
        params: dict[str, Any] = {}
        for name in self.names[1:]:
            text = self._first(values, name)
            if not text:
                continue
            number = read_number(text)
            if number is None:
                problems.append(FieldProblem(name, f"“{text[:20]}” is no number. Write one such as 3."))
                continue
            sql = "coalesce(a.choice, a.value)" if name.startswith("answer") else "a.confidence"
            param = name.replace(".", "_")
            bounds += f" AND {sql} {'>=' if name.endswith('min') else '<='} %({param})s"
            params[param] = number
        if not key and not bounds:
            return []
        return [Predicate(_ANSWERED.format(bounds=bounds), params={"question": list(ids), **params})]


# How each kind of question stores that an answer chose something.
_CHOSE = {
    Question.Kind.CHOICE: "a.value = %({number})s",
    Question.Kind.CHOICES: "%({number})s = ANY(a.selected)",
    Question.Kind.PREFERENCE: "EXISTS (SELECT FROM annotation_taskcandidate k JOIN annotation_candidate c"
    " ON c.id = k.candidate_id WHERE k.task_id = a.task_id AND k.slot = a.choice - 1 AND c.system_id = %({number})s)",
    Question.Kind.RANKING: "a.value = 1 AND EXISTS (SELECT FROM annotation_candidate c"
    " WHERE c.id = a.candidate_id AND c.system_id = %({number})s)",
    Question.Kind.EVENTS: "a.events @> jsonb_build_array(jsonb_build_object('label', %({label})s::text))",
}


@dataclass(frozen=True)
class Chosen(Among):
    """Any of the answers that a question lets raters choose, as `question:option`."""

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        names = [value for value in values.get(self.key, ()) if value]
        if unknown := [name for name in names if name not in facts.chosen]:
            problems.append(FieldProblem(self.key, f"This study has no “{unknown[0]}”."))
        conditions, params = [], dict[str, Any]()
        for place, answer in enumerate(facts.chosen[name] for name in names if name in facts.chosen):
            ids, number, label = (f"{self.key}_{part}_{place}" for part in ("of", "number", "label"))
            params |= {ids: list(answer.question_ids), number: answer.number, label: answer.label}
            condition = _CHOSE[Question.Kind(answer.kind)].format(number=number, label=label)
            conditions.append(f"(a.question_id = ANY(%({ids})s) AND {condition})")
        if not conditions:
            return []
        sql = (
            "(SELECT coalesce(bool_or(true), false) FROM annotation_answer a"
            f" WHERE a.judgment_id = j.id AND ({' OR '.join(conditions)}))"
        )
        return [Predicate(sql, params=params)]


def read_number(text: str) -> float | None:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if number - number == 0 else None


# ── Columns ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Column:
    """`kind`: how it is shown. `value`: its SQL, or empty where computed from other rows. `sort`: SQL in the order
    of an index. `shown`: whether a reader who has not chosen columns sees it."""

    key: str
    label: str
    kind: str
    value: str = ""
    sort: str = ""
    shown: bool = True
    wide: bool = False
    help: str = ""


@dataclass(frozen=True)
class Table:
    """`source`: what rows come from, `key` what numbers them, `detail`: what is joined to show the rows of a page."""

    name: str
    label: str
    key: str
    source: str
    scope: str
    detail: str
    columns: tuple[Column, ...]
    filters: tuple[Filter, ...]
    default_sort: str
    is_judgments: bool = False

    def column(self, key: str) -> Column | None:
        return next((column for column in self.columns if column.key == key), None)

    @property
    def names(self) -> set[str]:
        return {name for one in self.filters for name in one.names}
