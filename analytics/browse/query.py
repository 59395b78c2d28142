"""Queries of the tables of a study's data: filters, sorting, one page of rows, and counts.

Where the planner says that an index finds the few rows that match, a page finds those and sorts them. Else it walks the
order of an index from where the reader is: the index of the sort, or a narrower one that has only rows that a filter
lets through. A stretch of it is enough where many rows match. Where it is not, all that match are found, if the planner
says at a bounded cost; and otherwise the page goes on through the order until its time is up, and is marked as partial.
No filter takes longer than that, however few rows match.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection, transaction

from analytics.browse.columns import KEY, Column, Predicate, Problems, Table
from analytics.browse.facts import Facts
from analytics.browse.tables import TABLES
from analytics.data.postgres import fetch_rows
from annotation.errors import FieldProblem, InvalidInput, NotFound
from annotation.models import RaterWithdrawal, Study

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200
# Counts are exact up to here.
COUNT_LIMIT = 10_000
# Rows of the order that a page scans before it tries another plan.
FIRST_STRETCH = 4_000
LAST_STRETCH = 64_000
# Rows that are looked at to count, where finding all that match would take too long.
COUNT_STRETCH = 8_000
# What the planner may estimate for all matching rows, in its units: before the order is tried, some thousand rows by an
# index; after it, a scan of more than a million summaries.
CHEAP_COST = 6_000.0
MAX_COST = 60_000.0
# Seconds after which a page is shown as far as it is, and where words are searched.
TIME_LIMIT, WORDS_TIME_LIMIT = 0.1, 0.4
# What the planner's way gets where most of that is used up.
_LEAST_SECONDS = 0.05
# Nobody waits for a count.
_COUNT_TIME_LIMIT = 0.1
# For a transaction; null is the server's own value. A plan for whatever value may come does not see what is rare.
_SETTINGS = """
SELECT set_config('statement_timeout', %s, true), set_config('max_parallel_workers_per_gather', %s, true),
       set_config('plan_cache_mode', %s, true)
"""


# The sorted value and the key of the row that a page begins after.
Cursor = tuple[Any, int]


@dataclass(frozen=True)
class Query:
    """A request for rows of a table. `filters`: values by parameter, as they stand in an address. `sort`: a column,
    with a minus for the greatest first; empty for the order of import (judgments: the newest first). `columns`: those
    shown, in the table's order; empty for the usual ones."""

    table: str
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sort: str = ""
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: str, values: Mapping[str, Sequence[str]]) -> Query:
        """From the values of an address or of a saved view; other names are ignored."""
        if table not in TABLES:
            raise NotFound
        names = TABLES[table].names
        filters = {
            name: tuple(text for one in texts if (text := str(one).replace("\x00", "").strip()))
            for name, texts in values.items()
            if name in names or name.startswith("strata.")
        }
        sort = next(iter(values.get("sort", ())), "")
        columns = tuple(one for text in values.get("columns", ()) for one in text.split(",") if one)
        return cls(table, {name: texts for name, texts in filters.items() if texts}, sort, columns)

    @property
    def shape(self) -> Table:
        return TABLES[self.table]

    @property
    def is_filtered(self) -> bool:
        return bool(self.filters)

    def as_values(self) -> dict[str, list[str]]:
        """As an address holds it, without defaults."""
        values = {name: list(texts) for name, texts in self.filters.items()}
        if self.sort and self.sort != self.shape.default_sort:
            values["sort"] = [self.sort]
        if self.columns:
            values["columns"] = [",".join(self.columns)]
        return values

    def without(self, *names: str) -> Query:
        return replace(self, filters={name: one for name, one in self.filters.items() if name not in names})

    @property
    def shown_columns(self) -> tuple[Column, ...]:
        chosen = {*self.columns}
        shown = [one for one in self.shape.columns if (one.key in chosen if chosen else one.shown)]
        return tuple(shown or [one for one in self.shape.columns if one.shown])


@dataclass(frozen=True)
class Page:
    """Ids in order. `before`, `after`: cursors of the pages beside it, empty where there is none. `partial`: time was
    up before the page was full; what matches further on is found from `after`."""

    ids: tuple[int, ...]
    before: str = ""
    after: str = ""
    partial: bool = False


@dataclass(frozen=True)
class Total:
    """How many rows match: exactly `n`, or more than that (`more`)."""

    n: int
    more: bool = False


@dataclass(frozen=True)
class _Sorting:
    sql: str
    type: str
    descending: bool
    key: str

    @property
    def order(self) -> str:
        way = " DESC" if self.descending else ""
        return f"{self.sql}{way}, {self.key}{way}" if self.sql != self.key else f"{self.key}{way}"

    def reversed(self) -> _Sorting:
        return replace(self, descending=not self.descending)

    def after(self, cursor: Cursor | None) -> tuple[str, dict[str, Any]]:
        """The condition for what comes after a row."""
        if cursor is None:
            return "true", {}
        sign = "<" if self.descending else ">"
        if self.sql == self.key:
            return f"{self.key} {sign} %(cursor_key)s", {"cursor_key": cursor[1]}
        value = f"%(cursor_value)s::{self.type}"
        condition = f"({self.sql}, {self.key}) {sign} ({value}, %(cursor_key)s)"
        return condition, {"cursor_value": cursor[0], "cursor_key": cursor[1]}


_SORT_TYPES: Mapping[str, str] = {
    "name": "varchar", "rater": "varchar", "progress": "int", "meter": "float8", "figure": "float8",
    "date": "timestamptz", "number": "int",
}  # fmt: skip


class Selection:
    """The rows of one study that a query is about."""

    def __init__(self, study: Study, query: Query, facts: Facts) -> None:
        """Raises InvalidInput that lists the invalid filters, sort and columns."""
        self.study, self.query, self.table = study, query, query.shape
        problems: Problems = []
        self.predicates = [
            predicate
            for one in self.table.filters
            for predicate in one.predicates(query.filters, facts, problems)
        ]
        self.sorting = self._sorting(problems)
        if unknown := [one for one in query.columns if self.table.column(one) is None]:
            problems.append(FieldProblem("columns", f"There is no column “{unknown[0]}”."))
        if problems:
            raise InvalidInput("The data cannot be shown so.", problems=problems)
        self.params: dict[str, Any] = {"study": study.pk}
        for predicate in self.predicates:
            self.params |= predicate.params
        if self.table.is_judgments and RaterWithdrawal.objects.filter(rater__study=study).exists():
            hidden = "NOT EXISTS (SELECT FROM annotation_raterwithdrawal w WHERE w.rater_id = j.rater_id)"
            self.hidden = [Predicate(hidden)]
        else:
            self.hidden = []

    def _sorting(self, problems: Problems) -> _Sorting:
        requested_sort = self.query.sort or self.table.default_sort
        column = self.table.column(requested_sort.removeprefix("-")) if requested_sort else None
        if requested_sort and (column is None or not column.sort):
            known = ", ".join(one.key for one in self.table.columns if one.sort)
            problems.append(
                FieldProblem("sort", f"Sort by one of {known}, with a minus for the greatest first.")
            )
        if column is None or not column.sort:
            return _Sorting(self.table.key, "bigint", False, self.table.key)
        return _Sorting(column.sort, _SORT_TYPES[column.kind], requested_sort.startswith("-"), self.table.key)

    # ── SQL ──

    @property
    def _all_predicates(self) -> list[Predicate]:
        return [*self.predicates, *self.hidden]

    def _rows_sql(self, select: str, *conditions: str, by_row: bool = False) -> str:
        """All rows that match, by any index; `by_row`: looking at one row after the other."""
        joins, scope = "", self.table.scope
        if self._joins_tasks:
            joins = " JOIN analytics_tasksummary s ON s.task_id = j.task_id"
            scope += " AND s.study_id = %(study)s"
        where = [scope, *conditions]
        for one in self._all_predicates:
            where.append(one.row if by_row else one.as_rows)
            if one.walk and one.walk not in where:
                where.append(one.walk)
        return f"SELECT {select} FROM {self.table.source}{joins} WHERE {' AND '.join(where)}"

    @property
    def _time_limit(self) -> float:
        return WORDS_TIME_LIMIT if any(one.words for one in self.predicates) else TIME_LIMIT

    @property
    def _joins_tasks(self) -> bool:
        return self.table.is_judgments and any(one.task for one in self._all_predicates)

    def _walks(self, sorting: _Sorting, *, bound: bool) -> list[str]:
        order = KEY if sorting.sql == self.table.key else sorting.sql
        of_table = [one for one in self._all_predicates if not (one.task and self.table.is_judgments)]
        return [one.walk for one in of_table if one.walk and one.walk_order == order and one.bound == bound]

    def _walked(self, sorting: _Sorting) -> str:
        """What the order is restricted to: bounds of the sorted values, and rows that a filter has an index of."""
        narrower = self._walks(sorting, bound=False)[-1:]
        return " AND ".join([self.table.scope, *self._walks(sorting, bound=True), *narrower])

    def _stretch_sql(self, sorting: _Sorting, after: str, *, select: str = "") -> str:
        """Those that match among the next rows of the order."""
        alias = self.table.key.split(".")[0]
        inner = (
            f"SELECT {alias}.* FROM {self.table.source} WHERE {self._walked(sorting)} AND {after}"
            f" ORDER BY {sorting.order} LIMIT %(stretch)s"
        )
        joins = ""
        if self._joins_tasks:
            joins = " CROSS JOIN LATERAL (SELECT * FROM analytics_tasksummary x WHERE x.task_id = j.task_id OFFSET 0) s"
        conditions = " AND ".join(one.row for one in self._all_predicates) or "true"
        chosen = select or f"{self.table.key}, ({sorting.sql})::text"
        return f"SELECT {chosen} FROM ({inner}) {alias}{joins} WHERE {conditions}"

    # ── A page ──

    def page(self, *, after: str = "", before: str = "", limit: int = PAGE_SIZE) -> Page:
        """The page after one row or before another; the first without either."""
        backwards = bool(before)
        sorting = self.sorting.reversed() if backwards else self.sorting
        start = _read_cursor(before or after, sorting.type)
        rows, partial, stopped = self._find(sorting, start, limit + 1)
        more = len(rows) > limit or partial
        rows = rows[:limit]
        ahead = stopped if partial else _write_cursor(rows[-1]) if rows and more else ""
        if backwards:
            rows = rows[::-1]
            behind = _write_cursor(rows[-1]) if rows else _cursor_of(start, sorting.reversed())
            return Page(tuple(pk for pk, _ in rows), before=ahead, after=behind, partial=partial)
        behind = _write_cursor(rows[0]) if rows else _cursor_of(start, sorting.reversed())
        behind = behind if start else ""
        return Page(tuple(pk for pk, _ in rows), before=behind, after=ahead, partial=partial)

    def _find(
        self, sorting: _Sorting, start: Cursor | None, most: int
    ) -> tuple[list[tuple[int, str]], bool, str]:
        began = time.monotonic()
        rows: list[tuple[int, str]] = []
        stretch = most
        if self._all_predicates:
            stretch = FIRST_STRETCH
            few = None
            if not self._walks(sorting, bound=False):
                few = self._find_all(sorting, start, most, max_cost=CHEAP_COST, seconds=self._time_limit)
            if few is not None:
                return few, False, ""
        planner_tried = False
        while True:
            stretch_began = time.monotonic()
            condition, params = sorting.after(start)
            sql = self._stretch_sql(sorting, condition) + f" ORDER BY {sorting.order} LIMIT %(most)s"
            values = self.params | params | {"stretch": stretch, "most": most - len(rows)}
            found = self._fetch(sql, values)
            rows += found
            if len(rows) >= most:
                return rows, False, ""
            end = self._stretch_end(sorting, condition, params, stretch)
            if end is None:
                return rows, False, ""
            start = end
            now = time.monotonic()
            affordable = stretch / max(now - stretch_began, 1e-4) * (self._time_limit - (now - began))
            # As many rows again as will do, if matches go on at this rate.
            needed = 1.5 * stretch * (most - len(rows)) / len(found) if found else math.inf
            if not planner_tried and needed > affordable:
                planner_tried = True
                left = max(self._time_limit - (now - began), _LEAST_SECONDS)
                rest = self._find_all(sorting, start, most - len(rows), max_cost=MAX_COST, seconds=left)
                if rest is not None:
                    return rows + rest, False, ""
            if time.monotonic() - began > self._time_limit:
                return rows, True, _write_cursor((end[1], end[0]))
            stretch = max(FIRST_STRETCH, int(min(LAST_STRETCH, 4 * stretch, affordable, needed)))

    def _stretch_end(
        self, sorting: _Sorting, condition: str, params: Mapping[str, Any], stretch: int
    ) -> Cursor | None:
        """The last row of a full stretch; None where the order ends in it."""
        sql = (
            f"SELECT ({sorting.sql})::text, {self.table.key} FROM {self.table.source}"
            f" WHERE {self._walked(sorting)} AND {condition} ORDER BY {sorting.order} OFFSET %(skip)s LIMIT 1"
        )
        rows = self._fetch(sql, {**self.params, **params, "skip": stretch - 1})
        return (rows[0][0], rows[0][1]) if rows else None

    def _find_all(
        self, sorting: _Sorting, start: Cursor | None, most: int, *, max_cost: float, seconds: float
    ) -> list[tuple[int, str]] | None:
        """Sorted, of all that match further on; None where finding them would cost too much."""
        condition, params = sorting.after(start)
        # Neither the order nor the limit is to tempt the planner to walk the order after all.
        inner = self._rows_sql(f"{self.table.key} AS id, {sorting.sql} AS place", condition) + " OFFSET 0"
        values = self.params | params | {"most": most}
        way = " DESC" if sorting.descending else ""
        sql = f"SELECT id, place::text FROM ({inner}) m ORDER BY m.place{way}, m.id{way} LIMIT %(most)s"
        return self._fetch_bounded([sql], values, max_cost=max_cost, seconds=seconds)

    # ── Counts and all of it ──

    def total(self) -> Total:
        """Exact up to COUNT_LIMIT, or as far as a bounded search gets."""
        limit = COUNT_LIMIT + 1
        ways = [
            f"SELECT count(*) FROM ({self._rows_sql('1', by_row=by_row)} LIMIT %(most)s) m"
            for by_row in (False, True)
        ]
        values = self.params | {"most": limit}
        rows = self._fetch_bounded(ways, values, max_cost=MAX_COST, seconds=_COUNT_TIME_LIMIT)
        if rows is not None:
            n = int(rows[0][0])
            return Total(min(n, COUNT_LIMIT), more=n > COUNT_LIMIT)
        stretch = self._stretch_sql(self.sorting, "true", select="1")
        rows = self._fetch(
            f"SELECT count(*) FROM ({stretch} LIMIT %(most)s) m",
            self.params | {"stretch": COUNT_STRETCH, "most": limit},
        )
        n = int(rows[0][0])
        has_more = self._stretch_end(self.sorting, "true", {}, COUNT_STRETCH) is not None
        return Total(min(n, COUNT_LIMIT), more=has_more or n > COUNT_LIMIT)

    def all_ids(self, *, chunk: int = 2_000) -> Iterator[list[int]]:
        """Every row that matches, in order, a chunk at a time; each chunk by a statement of its own."""
        if self.sorting.type in ("int", "float8"):
            yield from self._all_ids_at_once(chunk)
            return
        start = None
        while True:
            condition, params = self.sorting.after(start)
            sql = (
                self._rows_sql(f"{self.table.key}, ({self.sorting.sql})::text", condition)
                + f" ORDER BY {self.sorting.order} LIMIT %(most)s"
            )
            rows = self._fetch(sql, self.params | params | {"most": chunk})
            if rows:
                yield [pk for pk, _ in rows]
            if len(rows) < chunk:
                return
            start = (rows[-1][1], rows[-1][0])

    def _all_ids_at_once(self, chunk: int) -> Iterator[list[int]]:
        """These sort values change with every vote: between two statements a row would be lost or doubled."""
        sql = f"{self._rows_sql(self.table.key)} ORDER BY {self.sorting.order}"
        ids = [pk for (pk,) in self._fetch(sql, self.params)]
        for first in range(0, len(ids), chunk):
            yield ids[first : first + chunk]

    def keep_matching(self, ids: Sequence[int]) -> list[int]:
        """Those of these ids that are rows of the study and match."""
        sql = self._rows_sql(self.table.key, f"{self.table.key} = ANY(%(chosen)s)")
        return [pk for (pk,) in self._fetch(sql, self.params | {"chosen": list(ids)})]

    # ── Statements ──

    def _fetch(self, sql: str, params: Mapping[str, Any]) -> list[Any]:
        return fetch_rows(sql, **params)

    def _fetch_bounded(
        self, ways: Sequence[str], params: Mapping[str, Any], *, max_cost: float, seconds: float
    ) -> list[Any] | None:
        """By the cheapest of some statements that find the same; None where the planner estimates too high a cost for
        each, or the statement times out. Without parallel workers: raters need the other processors."""
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(_SETTINGS, [f"{max(1, int(1000 * seconds))}ms", "0", "force_custom_plan"])
                costs = {sql: self._cost(sql, params) for sql in dict.fromkeys(ways)}
                cheapest = min(costs, key=lambda sql: costs[sql])
                rows = None
                if costs[cheapest] <= max_cost:
                    cursor.execute(cheapest, params)
                    rows = list(cursor.fetchall())
                cursor.execute(_SETTINGS, [None, None, None])
                return rows
        except OperationalError as error:
            if "statement timeout" not in str(error):
                raise
            return None

    def _cost(self, sql: str, params: Mapping[str, Any]) -> float:
        plan = fetch_rows(f"EXPLAIN (FORMAT JSON) {sql}", **params)[0][0]
        plan = json.loads(plan) if isinstance(plan, str) else plan
        return float(plan[0]["Plan"]["Total Cost"])


def _write_cursor(row: tuple[int, str]) -> str:
    """`key~value`: what stands in the address of the page after this row."""
    pk, value = row
    return f"{pk}~{value}"


def _cursor_of(start: Cursor | None, sorting: _Sorting) -> str:
    """The cursor from which this order goes on with the row at `start` itself."""
    if start is None:
        return ""
    value, key = start
    return _write_cursor((key + (1 if sorting.descending else -1), str(value)))


def _read_cursor(text: str, type: str) -> Cursor | None:
    if not text:
        return None
    key, _, value = text.partition("~")
    try:
        if not _KEY.fullmatch(key):
            raise ValueError(key)
        return _CURSOR_VALUES[type](value.replace("\x00", "")), int(key)
    except ValueError:
        problem = FieldProblem("after", "There is no such page; begin with the first one.")
        raise InvalidInput("This page is not there.", problems=[problem]) from None


def _read_int(text: str) -> int:
    number = int(text)
    if abs(number) >= 2**31:
        raise ValueError(text)
    return number


_KEY = re.compile(r"-?[0-9]{1,18}")
# By the type that a column is sorted by: a value of it from an address. An order by key alone has none.
_CURSOR_VALUES: Mapping[str, Callable[[str], Any]] = {
    "bigint": str, "varchar": str, "int": _read_int, "float8": float, "timestamptz": datetime.fromisoformat,
}  # fmt: skip
