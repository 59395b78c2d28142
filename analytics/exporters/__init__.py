"""Export formats: a module each, and a line in this dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from analytics.exporters import csv, jsonl

Lines = Callable[[Iterable[dict[str, Any]]], Iterator[str]]


@dataclass(frozen=True)
class Exporter:
    """How records become the lines of `judgments.EXTENSION`, `items.EXTENSION` and so on."""

    extension: str
    judgments: Lines
    items: Lines
    checks: Lines
    corrections: Lines
    cases: Lines


EXPORTERS = {
    "jsonl": Exporter("jsonl", jsonl.lines, jsonl.lines, jsonl.lines, jsonl.lines, jsonl.lines),
    "csv": Exporter(
        "csv", csv.answer_lines, csv.candidate_lines, csv.check_lines, csv.correction_lines, csv.case_lines
    ),
}
