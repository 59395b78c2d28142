"""Which results make up a row of the paper's tables, and what the row is called."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics.reports.benchmark_figures import Figure
from analytics.reports.benchmark_results import (
    DEFAULT_OUTPUT,
    ENSEMBLE_MEAN,
    Result,
    Spread,
    model_name,
    spread_over_templates,
)
from analytics.reports.benchmark_tables import Column

_DIGEST_SHOWN = 8


@dataclass
class Row:
    """One scorer through all benchmarks of the table. Where what is asked depends on the benchmark, so does the
    scorer's digest."""

    title: str
    model: str
    is_limited: bool
    results: list[Result] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.title} {self.model}".strip()

    @property
    def outputs(self) -> list[str]:
        """The usual question first, the mean of all last."""
        names = dict.fromkeys(name for result in self.results for name in result.outputs)
        return sorted(names, key=lambda name: (name != DEFAULT_OUTPUT, name == ENSEMBLE_MEAN))

    @property
    def has_templates(self) -> bool:
        return any(len(result.templates) > 1 for result in self.results)

    def takes(self, result: Result) -> bool:
        """Not where one of its figures is in the row already, nor where the row asks the same task in other words."""
        shown = {key for one in self.results for key in one.columns}
        task = result.options.get("task")
        reworded = any(
            one.options.get("task") == task and one.digest != result.digest for one in self.results
        )
        return not reworded and not shown & result.columns

    def usual_figure(self, column: Column) -> Figure | None:
        found = (result.usual.figures.get(column.key) for result in self.results)
        return next((figure for figure in found if figure is not None), None)

    def figure(self, column: Column, output: str) -> Figure | None:
        for result in self.results:
            found = result.outputs.get(output)
            if found is not None and column.key in found.figures:
                return found.figures[column.key]
        return None

    def spread(self, column: Column) -> Spread | None:
        found = (spread_over_templates(result, column.key) for result in self.results)
        return next((spread for spread in found if spread is not None), None)


def rows_of(results: Iterable[Result]) -> tuple[Row, ...]:
    """A row for each scorer, in the order of method and model; no two are called the same."""
    rows: dict[str, list[Row]] = {}
    for result in results:
        alike = rows.setdefault(_scorer(result), [])
        row = next((row for row in alike if row.takes(result)), None)
        if row is None:
            row = Row(result.title, _labelled(result, result.model), is_limited=bool(result.limit))
            alike.append(row)
        row.results.append(result)
    named: dict[str, list[Row]] = {}
    for row in (row for alike in rows.values() for row in alike):
        named.setdefault(row.name, []).append(row)
    for alike in named.values():
        if len(alike) > 1:
            _tell_apart(alike)
    return tuple(
        sorted((row for alike in named.values() for row in alike), key=lambda row: (row.title, row.model))
    )


def _scorer(result: Result) -> str:
    """Everything that can change its scores, except what follows from the benchmark: which task it is asked."""
    identity = {name: value for name, value in result.identity.items() if name != "task"}
    own_words: Mapping[str, Any] | None = None
    if "task" in result.options:
        # The words change with the task, but not whose they are.
        identity.pop("prompts", None)
        own_words = result.options.get("prompts")
    return json.dumps([result.scorer, result.limit, identity, own_words], sort_keys=True)


def _tell_apart(rows: list[Row]) -> None:
    """By the folder or owner of their models where that is enough, and otherwise by a digest."""
    first = [row.results[0] for row in rows]
    names = [model_name(result.options, parts=2) for result in first]
    if len(set(names)) < len(names):
        names = [f"{result.model} ({result.digest[:_DIGEST_SHOWN]})".strip() for result in first]
    for row, result, name in zip(rows, first, names, strict=True):
        row.model = _labelled(result, name)


def _labelled(result: Result, model: str) -> str:
    limited = f"first {result.limit} of each part" if result.limit else ""
    return ", ".join(filter(None, (model, limited)))
