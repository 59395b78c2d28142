from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from annotation.csv_escaping import escape_formula, unescape_formula


@given(st.text(st.sampled_from("'=+-@\t\r\n＝＋－＠ a1"), max_size=5))
@example("'=1")
def test_no_cell_runs_and_every_text_comes_back(text):
    assert not escape_formula(text).startswith((*"=+-@\t\r\n＝＋－＠",))
    assert unescape_formula(escape_formula(text)) == text


def test_plain_texts_stay_as_they_are():
    assert [escape_formula(text) for text in ("", "'tis", "1 - 1", "a=b")] == ["", "'tis", "1 - 1", "a=b"]
