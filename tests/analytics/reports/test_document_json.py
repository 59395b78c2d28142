from __future__ import annotations

import json
import math

import pytest

from analytics.reports.document import Column, Measured, Table, document_from_json, document_json
from analytics.reports.render.csv_table import csv_text
from analytics.reports.render.html import render_standalone
from annotation.models import Job
from tests.analytics.reports.render.documents import TABLE, document


def test_what_is_read_is_what_was_written():
    assert document_from_json(json.loads(json.dumps(document_json(document())))) == document()


@pytest.mark.django_db
def test_a_database_that_knows_one_kind_of_number_changes_no_byte():
    cells = [(1e16, 7), (Measured(3.0, -0.0, 1e-9), 2**60), (0.1 + 0.2, 0)]
    made = document(TABLE, Table("t", "", (Column("x", "", "number", 3), Column("n", "", "count")), cells))
    job = Job.objects.create(kind="report", report=document_json(made))
    kept = document_from_json(Job.objects.get(pk=job.pk).report)
    assert render_standalone(kept) == render_standalone(made)
    tables = [(a, b) for a, b in zip(kept.sections[0].blocks, made.sections[0].blocks, strict=True)]
    for one, other in tables:
        if isinstance(other, Table):
            assert csv_text(one) == csv_text(other)


@pytest.mark.parametrize("strange", [math.nan, math.inf, Measured(1.0, -math.inf, 2.0)])
def test_what_is_no_number_is_refused_by_name(strange):
    table = Table("rates", "", (Column("x", "", "number"),), [(strange,)])
    with pytest.raises(ValueError, match="'rates' holds"):
        document_json(document(table))
