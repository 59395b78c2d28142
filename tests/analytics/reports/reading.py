"""Reading documents in tests: tables by key, rows by column, texts, and the data that sections are made from."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from django.core.management import call_command

from analytics.data.questions import measured_questions
from analytics.data.votes import load_votes
from analytics.reports.document import Block, Document, Paragraph, Section, Table
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.reports.study_report import study_report
from analytics.statistics.bootstrap import Resampling
from annotation.models import Study

Readable = Document | Section | Iterable[Block] | None


def blocks_of(source: Readable) -> list[Block]:
    assert source is not None
    if isinstance(source, Document):
        return [block for section in source.sections for block in section.blocks]
    return list(source.blocks if isinstance(source, Section) else source)


def tables_of(source: Readable) -> dict[str, Table]:
    """By key, which is unique; every row has a cell for each column."""
    tables = [block for block in blocks_of(source) if isinstance(block, Table)]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    by_key = {table.key: table for table in tables}
    assert len(by_key) == len(tables)
    return by_key


def rows_of(table: Table) -> list[dict[str, Any]]:
    return [dict(zip([column.key for column in table.columns], row, strict=True)) for row in table.rows]


def row_of(table: Table, *starts: str) -> dict[str, Any]:
    """The one row that begins with these cells."""
    (row,) = [row for row in rows_of(table) if list(row.values())[: len(starts)] == list(starts)]
    return row


def text_of(source: Readable, *, warnings: bool = False) -> str:
    """The paragraphs, or the warnings among them."""
    paragraphs = [block for block in blocks_of(source) if isinstance(block, Paragraph)]
    return " ".join(block.text for block in paragraphs if block.warning or not warnings)


def material_of(study: Study, *, replicates: int = 20) -> ReportData:
    votes = tuple(load_votes(question) for question in measured_questions(study))
    return ReportData(study, votes, ReportSettings(resampling=Resampling(replicates=replicates)))


def sections_of(study: Study, *, replicates: int = 20, **options: Any) -> dict[str, Section]:
    """The report of a study as it is stored by now, by section."""
    report = report_of(study, replicates=replicates, **options)
    return {section.key: section for section in report.sections}


def report_of(
    study: Study, *, language: str = "en", interval: str = "jackknife", seed: int = 0, replicates: int = 20
) -> Document:
    settings = ReportSettings(interval, Resampling(seed=seed, replicates=replicates))  # type: ignore[arg-type]
    stored = Study.objects.get(pk=study.pk)
    return study_report(stored, settings, language=language, progress=lambda done: None)


def typed(*arguments: str) -> str:
    """What a command prints to standard output."""
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()
