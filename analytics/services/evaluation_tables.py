"""A table and its drawings over all results in a folder of evaluations, written anew with each."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
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
    with _alone(folder):
        table = metric_table(layout_of(benchmark), results_in(folder))
        written = []
        for name, text in _files(table):
            draft = folder / f"{name}.part"
            draft.write_text(text, encoding="utf-8", newline="")
            os.replace(draft, folder / name)
            written.append(folder / name)
    return written


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Scorers may be evaluated into one folder side by side: whoever writes the tables last has read all results."""
    with (folder / ".tables.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _files(table: MetricTable) -> Iterator[tuple[str, str]]:
    name = table.layout.name
    yield f"{name}.md", as_markdown(table)
    yield f"{name}.csv", as_csv(table)
    yield f"{name}.svg", scorers_plot(table)
    if table.by_template:
        yield f"{name}-templates.md", templates_as_markdown(table)
        yield f"{name}-templates.svg", templates_plot(table)
