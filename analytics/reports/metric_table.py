"""The paper's tables over all results at hand: scorers down, figures across, each with its interval (AQAScore, tables
2 to 6), and the same by question template (tables 29 to 36)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analytics.reports.benchmark_figures import Figure
from analytics.reports.benchmark_results import ENSEMBLE_MEAN, Result, Spread
from analytics.reports.benchmark_tables import Column, Layout
from analytics.reports.metric_rows import Row, rows_of
from analytics.statistics.bootstrap import SENTENCES
from annotation.formulas import defused

_CSV = (
    "method", "model", "digest", "output", "benchmark", "part", "statistic", "value", "low", "high", "level", "n",
    "clusters", "missing", "human_ties", "metric_ties", "replicates", "degenerate", "reason", "bounded",
)  # fmt: skip


@dataclass(frozen=True)
class MetricTable:
    layout: Layout
    rows: tuple[Row, ...]

    @property
    def by_template(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.has_templates)


def metric_table(layout: Layout, results: Iterable[Result]) -> MetricTable:
    """The rows in the order of method and model; versions of one method and model have a row each."""
    keys = {column.key for column in layout.columns}
    return MetricTable(layout, rows_of(result for result in results if keys & result.columns))


def as_markdown(table: MetricTable) -> str:
    """The best figure of a column bold, the second best underlined; below it what the figures rest on."""
    columns = table.layout.columns
    lines = [f"# {table.layout.title}", ""]
    lines += _table_lines(("Method", "Model"), columns, _scorer_rows(table))
    lines += ["", f"Laid out as table {table.layout.number} of the AQAScore paper. {_reading(table)}", ""]
    lines += _what_it_rests_on(table)
    return "\n".join(lines) + "\n"


def templates_as_markdown(table: MetricTable) -> str:
    """A block of rows per scorer, a row per template, and how far they spread."""
    lines = [f"# {table.layout.title}, by question template", ""]
    lines += _table_lines(("Scorer", "Template"), table.layout.columns, _template_rows(table))
    lines += ["", "The spread is the sample standard deviation over the templates.", ""]
    return "\n".join(lines)


def as_csv(table: MetricTable) -> str:
    """A line per scorer, output and figure, with everything it rests on."""
    text = io.StringIO(newline="")
    # With another end of line the writer leaves a lone carriage return unquoted, which ends the row for readers.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_CSV)
    for row in table.rows:
        for result in row.results:
            for output, found in result.outputs.items():
                for column in table.layout.columns:
                    if column.key in found.figures:
                        writer.writerow(_csv_line(row, result, output, column, found.figures[column.key]))
    return text.getvalue()


def _csv_line(row: Row, result: Result, output: str, column: Column, figure: Figure) -> Iterator[object]:
    estimate = figure.estimate
    low, high = estimate.interval or (None, None)
    yield from map(defused, (row.title, row.model, result.digest, output))
    yield from (result.benchmark, column.part, column.statistic)
    yield from (estimate.value, low, high, estimate.level, estimate.n, estimate.clusters)
    yield from (figure.missing, figure.human_ties, figure.metric_ties)
    yield from (estimate.replicates, estimate.degenerate, estimate.reason or "")
    yield result.outputs[output].bounded


def _table_lines(
    left: tuple[str, str], columns: Sequence[Column], rows: Iterable[tuple[str, ...]]
) -> Iterator[str]:
    headings = [f"{column.heading} {column.label}" for column in columns]
    yield "| " + " | ".join([*left, *headings]) + " |"
    yield "|" + "---|" * 2 + "---:|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _scorer_rows(table: MetricTable) -> Iterator[tuple[str, ...]]:
    marks = [_marks(table, column) for column in table.layout.columns]
    for row in table.rows:
        cells = []
        for column, mark in zip(table.layout.columns, marks, strict=True):
            cells.append(_cell(column, row.usual_figure(column), mark))
        yield (_plain(row.title), _plain(row.model), *cells)


def _template_rows(table: MetricTable) -> Iterator[tuple[str, ...]]:
    for row in table.by_template:
        name = _plain(row.name)
        for output in row.outputs:
            cells = (_cell(column, row.figure(column, output), {}) for column in table.layout.columns)
            label = "mean of the scores" if output == ENSEMBLE_MEAN else output
            yield (name, _plain(label), *cells)
        yield (name, "mean ± sd", *(_spread(column, row.spread(column)) for column in table.layout.columns))


def _marks(table: MetricTable, column: Column) -> dict[str, str]:
    """How the two best values of a column, as shown, are set. What was only tried on a few is out of the running."""
    figures = [row.usual_figure(column) for row in table.rows if not row.is_limited]
    values = {figure.estimate.value for figure in figures if figure and figure.estimate.value is not None}
    shown = list(dict.fromkeys(column.shown(value) for value in sorted(values, reverse=True)))
    if len(shown) < 2:
        return {}
    return {shown[0]: f"**{shown[0]}**", shown[1]: f"<u>{shown[1]}</u>"}


def _cell(column: Column, figure: Figure | None, marks: dict[str, str]) -> str:
    if figure is None:
        return "—"
    estimate = figure.estimate
    if estimate.value is None:
        return "undefined"
    value = column.shown(estimate.value)
    interval = ""
    if estimate.interval is not None:
        interval = f" [{column.shown(estimate.interval[0])}, {column.shown(estimate.interval[1])}]"
    return marks.get(value, value) + interval


def _spread(column: Column, spread: Spread | None) -> str:
    return "—" if spread is None else f"{column.shown(spread.mean)} ± {column.shown(spread.sd)}"


def _reading(table: MetricTable) -> str:
    levels = {
        figure.estimate.level
        for row in table.rows
        for result in row.results
        for output in result.outputs.values()
        for figure in output.figures.values()
    }
    level = f"{100 * levels.pop():g} % " if len(levels) == 1 else ""
    return (
        f"In brackets: {level}bootstrap intervals over prompts (or over sounds, where one sound has several pairs of "
        "captions). Pairs that people left undecided do not count; a scorer's tie counts one half, except in CompA, "
        "where it loses."
    )


def _what_it_rests_on(table: MetricTable) -> Iterator[str]:
    yield "## What the figures rest on"
    for row in table.rows:
        yield ""
        yield f"**{_plain(row.name)}**"
        for result in row.results:
            yield f"- {result.benchmark}: {_counts(result)}; scorer `{result.digest}`"
            yield from (f"  - {note}" for note in _notes(result, table.layout))
        if row.has_templates:
            yield f"- shown by template {row.outputs[0]!r} of {', '.join(row.outputs)}"


def _counts(result: Result) -> str:
    failed = sum(result.faults.values())
    parts = [f"{result.n_examples:,} examples, {failed:,} without a score"]
    if failed:
        each = ", ".join(
            f"{code} {n:,} ({100 * n / result.n_examples:.1f} %)" for code, n in sorted(result.faults.items())
        )
        parts.append(f"({each}), which do not count")
    if result.left_out:
        parts.append(f"; {len(result.left_out):,} sounds are not in the folder")
    return " ".join(parts).replace(" ;", ";")


def _notes(result: Result, layout: Layout) -> Iterator[str]:
    """A line for each part and what is true of it; correlations of one part rest on the same items."""
    found = result.usual.figures
    lines = (f"{c.part}: {_counted(found[c.key])}" for c in layout.columns if c.key in found)
    yield from dict.fromkeys(lines)
    bounded = {name: output.bounded for name, output in result.outputs.items() if output.bounded}
    if bounded:
        each = ", ".join(
            f"{name} {n:,} ({100 * n / result.n_examples:.1f} %)" for name, n in sorted(bounded.items())
        )
        yield (
            f"scores that are bounds, as the server did not list the probability of both answers: {_plain(each)}"
        )


def _counted(figure: Figure) -> str:
    ties = f", {figure.metric_ties:,} ties of the scorer" if figure.metric_ties else ""
    undecided = f", {figure.human_ties:,} undecided by people" if figure.human_ties else ""
    reason = f". {SENTENCES[figure.estimate.reason]}" if figure.estimate.reason else ""
    return f"n = {figure.estimate.n:,}{ties}{undecided}{reason}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
