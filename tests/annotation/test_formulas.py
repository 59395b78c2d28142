from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from annotation.formulas import as_written, defused


@given(st.text(st.sampled_from("'=+-@\t\r\n＝＋－＠ a1"), max_size=5))
@example("'=1")
def test_no_cell_runs_and_every_text_comes_back(text):
    assert not defused(text).startswith((*"=+-@\t\r\n＝＋－＠",))
    assert as_written(defused(text)) == text


def test_plain_texts_stay_as_they_are():
    assert [defused(text) for text in ("", "'tis", "1 - 1", "a=b")] == ["", "'tis", "1 - 1", "a=b"]
