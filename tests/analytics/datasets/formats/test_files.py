"""What is written into a file of rows is read back from it."""

from __future__ import annotations

import pytest

from analytics.datasets.formats import writers
from analytics.datasets.formats.contract import Column

COLUMNS = (Column("id", "string", "a name"), Column("text", "string", "words"))


@pytest.mark.parametrize("kind", sorted(writers.WRITERS))
@pytest.mark.parametrize("text", ["a\rb", "a\r\nb\n", "=1", "＝1", "\n=1", "'=1", '"', " , "])
def test_texts_come_back_as_they_were(tmp_path, kind, text):
    path = tmp_path / f"rows.{kind}"
    writer = writers.WRITERS[kind](path, COLUMNS)
    writer.write({"id": "one", "text": text})
    writer.write({"id": "two", "text": "x"})
    writer.close()
    found = list(writers.read_rows(path, ["id", "text"]))
    assert found == [{"id": "one", "text": text}, {"id": "two", "text": "x"}]
