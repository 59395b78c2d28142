from __future__ import annotations

import pytest

from labeling_ui.review.word_diff import MOST_TOKENS, Piece, diff_words

TEXTS = [
    "",
    "The red cat sat on the mat.",
    "The blue dog sat on a mat",
    "One line.\nAnother  line.\n",
    "One line.\n\nAnother line, longer.\n",
    "钢琴独奏在前，小提琴随后。",
    "小提琴独奏在前，钢琴随后。",
]


@pytest.mark.parametrize("after", TEXTS)
@pytest.mark.parametrize("before", TEXTS)
def test_the_pieces_make_up_both_texts_to_the_blank(before, after):
    found = diff_words(before, after)
    assert "".join(piece.text for piece in found if piece.kind != "new") == before
    assert "".join(piece.text for piece in found if piece.kind != "gone") == after


def test_neighbouring_words_change_together():
    assert diff_words("A red cat sat.", "A blue dog sat.") == [
        Piece("same", "A "),
        Piece("gone", "red cat"),
        Piece("new", "blue dog"),
        Piece("same", " sat."),
    ]


def test_a_script_without_blanks_is_compared_by_its_characters():
    assert diff_words("钢琴独奏", "小提琴独奏") == [
        Piece("gone", "钢"),
        Piece("new", "小提"),
        Piece("same", "琴独奏"),
    ]


def test_a_line_end_that_is_gone_is_shown():
    assert Piece("gone", "\n") in diff_words("one\ntwo", "one two")


def test_equal_texts_have_nothing_changed():
    assert diff_words("Just so.", "Just so.") == [Piece("same", "Just so.")]


def test_very_long_texts_are_shown_whole():
    before, after = "a " * MOST_TOKENS, "b " * MOST_TOKENS
    assert diff_words(before, after) == [Piece("gone", before), Piece("new", after)]
