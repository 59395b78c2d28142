"""The tables and drawings of a folder of evaluations, written anew from all results in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from analytics.reports.benchmark_tables import LAYOUTS
from analytics.reports.metric_plots import scorers_plot, templates_plot
from analytics.reports.metric_table import as_csv, as_markdown, metric_table, templates_as_markdown
from analytics.services.evaluations import results_in


def write_tables(folder: Path) -> list[Path]:
    """One set of files per table of the paper that has results: NAME.md, .csv and .svg, and NAME-templates.md and .svg
    where a scorer was asked with several templates."""
    written = []
    for name, text in _files(folder):
        draft = folder / f"{name}.part"
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, folder / name)
        written.append(folder / name)
    return written


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    results = results_in(folder)
    for layout in LAYOUTS:
        table = metric_table(layout, results)
        if not table.rows:
            continue
        yield f"{layout.name}.md", as_markdown(table)
        yield f"{layout.name}.csv", as_csv(table)
        yield f"{layout.name}.svg", scorers_plot(table)
        if table.by_template:
            yield f"{layout.name}-templates.md", templates_as_markdown(table)
            yield f"{layout.name}-templates.svg", templates_plot(table)
