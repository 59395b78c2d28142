"""A table and its drawings over all results in a folder of evaluations, written anew with each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from analytics.benchmarks import Benchmark
from analytics.reports.benchmark_tables import layout_of
from analytics.reports.metric_plots import scorers_plot, templates_plot
from analytics.reports.metric_table import (
    MetricTable,
    as_csv,
    as_markdown,
    metric_table,
    templates_as_markdown,
)
from analytics.services.evaluations import results_in


def write_tables(folder: Path, benchmark: Benchmark) -> list[Path]:
    """The files of the table that shows this benchmark: NAME.md, .csv and .svg, and NAME-templates.md and .svg where a
    scorer was asked with several templates."""
    table = metric_table(layout_of(benchmark), results_in(folder))
    written = []
    for name, text in _files(table):
        draft = folder / f"{name}.part"
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, folder / name)
        written.append(folder / name)
    return written


def _files(table: MetricTable) -> Iterator[tuple[str, str]]:
    name = table.layout.name
    yield f"{name}.md", as_markdown(table)
    yield f"{name}.csv", as_csv(table)
    yield f"{name}.svg", scorers_plot(table)
    if table.by_template:
        yield f"{name}-templates.md", templates_as_markdown(table)
        yield f"{name}-templates.svg", templates_plot(table)
