"""The tables of a study's report, a dictionary per row."""

from __future__ import annotations

from typing import Any

from analytics.data import votes
from analytics.data.questions import measured_questions
from analytics.reports.document import Table
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.reports.sections.ratings import ratings_section
from annotation.models import Study


def rating_tables(study: Study, question: str) -> dict[str, list[dict[str, Any]]]:
    """Those on one question's ratings, by what they are about."""
    asked = tuple(votes.load_votes(one) for one in measured_questions(study) if one.key == question)
    section = ratings_section(ReportData(study, asked, ReportSettings()))
    assert section is not None
    found = {}
    for block in section.blocks:
        if isinstance(block, Table):
            keys = [column.key for column in block.columns]
            found[block.key.split("-")[1]] = [dict(zip(keys, row, strict=True)) for row in block.rows]
    return found
