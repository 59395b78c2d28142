"""The tables of metrics as drawings: a block per figure, a line per scorer or per template."""

from __future__ import annotations

from collections.abc import Iterator

from analytics.figures.interval_plot import Block, Point, interval_plot
from analytics.reports.benchmark_figures import Figure
from analytics.reports.benchmark_tables import SHARES, Column
from analytics.reports.metric_rows import Row
from analytics.reports.metric_table import MetricTable


def scorers_plot(table: MetricTable) -> str:
    """Each scorer's figures with their bootstrap intervals."""
    blocks = [
        Block(_heading(column), [_point(column, row, figure) for row, figure in found])
        for column in table.layout.columns
        if (found := list(_with(table, column)))
    ]
    return interval_plot(table.layout.title, blocks)


def templates_plot(table: MetricTable) -> str:
    """Mean and standard deviation over question templates (AQAScore, figure 2)."""
    blocks = []
    for row in table.by_template:
        spreads = [(column, row.spread(column)) for column in table.layout.columns]
        points = [
            Point(
                _heading(column),
                spread.mean,
                spread.mean - spread.sd,
                spread.mean + spread.sd,
                _shown(column, spread.mean),
            )
            for column, spread in spreads
            if spread is not None
        ]
        blocks.append(Block(row.name, points))
    return interval_plot(f"{table.layout.title}: mean ± sd over question templates", blocks)


def _with(table: MetricTable, column: Column) -> Iterator[tuple[Row, Figure]]:
    for row in table.rows:
        figure = row.usual_figure(column)
        if figure is not None:
            yield row, figure


def _point(column: Column, row: Row, figure: Figure) -> Point:
    value = figure.estimate.value
    low, high = figure.estimate.interval or (None, None)
    shown = "–" if value is None else _shown(column, value)
    return Point(row.name, value, low, high, shown)


def _heading(column: Column) -> str:
    return f"{column.heading} {column.label}"


def _shown(column: Column, value: float) -> str:
    return f"{column.shown(value)} %" if column.statistic in SHARES else column.shown(value)
