"""What is written into a file of rows is read back from it."""

from __future__ import annotations

import pytest

from analytics.training_sets import files
from analytics.training_sets.contract import Column

COLUMNS = (Column("id", "string", "a name"), Column("text", "string", "words"))


@pytest.mark.parametrize("kind", sorted(files.WRITERS))
@pytest.mark.parametrize("text", ["a\rb", "a\r\nb\n", "=1", "＝1", "\n=1", "'=1", '"', " , "])
def test_texts_come_back_as_they_were(tmp_path, kind, text):
    path = tmp_path / f"rows.{kind}"
    writer = files.WRITERS[kind](path, COLUMNS)
    writer.write({"id": "one", "text": text})
    writer.write({"id": "two", "text": "x"})
    writer.close()
    found = list(files.read(path, ["id", "text"]))
    assert found == [{"id": "one", "text": text}, {"id": "two", "text": "x"}]
