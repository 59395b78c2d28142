from __future__ import annotations

import csv
import io

from analytics.reports.document import Column, Measured, Table
from analytics.reports.render.csv_table import csv_text
from tests.analytics.reports.render.documents import TABLE


def rows(table: Table) -> list[list[str]]:
    return list(csv.reader(io.StringIO(csv_text(table))))


def test_a_measured_column_is_four():
    assert rows(TABLE)[0] == [
        "system", "votes", "strength", "strength_low", "strength_high", "strength_reason", "rate",
    ]  # fmt: skip


def test_values_keep_every_digit_and_shares_stay_fractions():
    value, low, high = 1 / 3, 1e-300, 0.1 + 0.2
    table = Table("t", "", (Column("x", "", "number", 1),), [(Measured(value, low, high),)])
    assert [float(cell) for cell in rows(table)[1][:3]] == [value, low, high]
    assert rows(TABLE)[1] == ["Aria_1", "1234", "-0.004", "-0.5", "0.25", "", "0.1234"]


def test_what_is_missing_is_empty_with_its_reason():
    assert rows(TABLE)[2][2:] == ["", "", "", "Nobody voted.", ""]


def test_texts_are_no_formulas_and_numbers_stay_numbers():
    assert rows(TABLE)[2][0] == "'=cmd()"
    assert rows(TABLE)[1][2] == "-0.004"


def test_a_whole_number_is_written_the_same_whoever_stored_it():
    for stored in (2, 2.0):
        table = Table("t", "", (Column("x", "", "number"), Column("n", "", "count")), [(stored, stored)])
        assert rows(table)[1] == ["2.0", "2"]
