"""What a name may hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.importing.records import (
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    TaskRecord,
    validate_record,
)

RECORD = TaskRecord("1", "task", ItemRecord("item", {"question": "An\x1fanswer"}), (CandidateRecord("s"),))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("id", {"external_id": "task\x1f"}),
        ("id", {"item": ItemRecord("it\x1fem")}),
        ("system", {"candidates": (CandidateRecord("s\x1f2"),)}),
        ("rater", {"judgments": [JudgmentRecord("#", "1", "\x1fr")]}),
    ],
)
def test_what_stands_between_names_is_in_none_of_them_but_may_be_in_texts(field, change):
    assert list(validate_record(RECORD)) == []
    assert [(one.row, one.field) for one in validate_record(replace(RECORD, **change))] == [("1", field)]
