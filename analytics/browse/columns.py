"""Columns and filters of the tables of a study's data: what each is called, how it is read, sorted, filtered and shown.

The pages, the filter form, the CSV files and the API all follow from these declarations. SQL names a task's or an
item's summary `s`, a judgment `j`; %(study)s and what `Facts` holds are always there.

A predicate comes in two forms where they differ: `row` looks at one row that is at hand, `rows` finds the rows by an
index. Texts are English; pages translate them.
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

MAX_TEXT = 200
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class Predicate:
    """`task`: it looks at the summary of a judgment's task."""

    row: str
    rows: str = ""
    task: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def as_rows(self) -> str:
        return self.rows or self.row


Problems = list[FieldProblem]
Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Filter(ABC):
    """`names`: the parameters that it reads from an address. `group`: under which heading the form has it."""

    key: str
    label: str
    sql: str = ""
    task: bool = False
    group: str = ""
    help: str = ""

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
    """Any of some values: `options` has what stands in the address, the label, and the SQL value or condition."""

    options: tuple[tuple[str, str, Any], ...] = ()

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
        if self.sql:
            sql = f"{self.sql} = ANY(%({self.key})s)"
            return [Predicate(sql, task=self.task, params={self.key: stored_values})]
        return [Predicate("(" + " OR ".join(stored_values) + ")", task=self.task)]


@dataclass(frozen=True)
class Among(Filter):
    """Any of the study's own names: systems, codes, strata, raters. `source` names the mapping of `Facts`."""

    source: str = ""
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
        return [Predicate(self.sql, task=self.task, params={self.key: ids})]


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
    """`NAME.min` and `NAME.max`, both inclusive."""

    step: str = "any"

    kind = "range"

    @property
    def names(self) -> tuple[str, ...]:
        return (f"{self.key}.min", f"{self.key}.max")

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        predicates = []
        for name, sign in zip(self.names, (">=", "<="), strict=True):
            text = self._first(values, name)
            if not text:
                continue
            number = read_number(text)
            if number is None:
                problems.append(FieldProblem(name, f"“{text[:20]}” is no number. Write one such as 0.5."))
                continue
            param = name.replace(".", "_")
            predicates.append(
                Predicate(f"{self.sql} {sign} %({param})s", task=self.task, params={param: number})
            )
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
            predicates.append(
                Predicate(f"{self.sql} {sign} %({param})s", task=self.task, params={param: moment})
            )
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
        return [Predicate(self.sql if text == "yes" else f"NOT ({self.sql})", task=self.task)]


# By the item: its name, its texts, its answers in words.
_ITEM_WORDS = (
    "(SELECT x.words @@ to_tsquery('simple', %(words)s)"
    " FROM analytics_itemtext x WHERE x.item_id = s.item_id)"
)
_ITEMS_BY_WORDS = (
    "s.item_id IN (SELECT x.item_id FROM analytics_itemtext x"
    " WHERE x.study_id = %(study)s AND x.words @@ to_tsquery('simple', %(words)s))"
)
_ITEM_PARTS = "(SELECT x.text LIKE ALL(%(parts)s) FROM analytics_itemtext x WHERE x.item_id = s.item_id)"
_ITEMS_BY_PARTS = (
    "s.item_id IN (SELECT x.item_id FROM analytics_itemtext x"
    " WHERE x.study_id = %(study)s AND x.text LIKE ALL(%(parts)s))"
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
class ItemText(Filter):
    kind = "search"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        text = self._first(values)
        words = _search_words(self.key, text, problems)
        if not words:
            return []
        if facts.text_search == "parts" and all(len(word) >= 3 for word in words):
            parts = [f"%{word.replace('_', chr(92) + '_')}%" for word in words]
            return [Predicate(_ITEM_PARTS, _ITEMS_BY_PARTS, task=True, params={"parts": parts})]
        return [Predicate(_ITEM_WORDS, _ITEMS_BY_WORDS, task=True, params={"words": prefix_query(words)})]


@dataclass(frozen=True)
class CommentText(Filter):
    kind = "text"

    def predicates(self, values: Values, facts: Facts, problems: Problems) -> list[Predicate]:
        words = _search_words(self.key, self._first(values), problems)
        return [Predicate(_COMMENT_WORDS, params={"comment": prefix_query(words)})] if words else []


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
    """`question` with `answer.min` and `answer.max` (a value, or the number of a choice or an option), and the same of
    its confidence."""

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
