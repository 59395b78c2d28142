"""What a corrected text differs in, and what is no correction."""

from __future__ import annotations

import pytest

from annotation.review.rules import MAX_TEXT_LENGTH, changed_texts, validate_correction

BEFORE = {
    "question": "What rings?",
    "reference": "A bell.\nTwice.",
    "rationale": "",
    "transcript": "ding",
    "prompt": "",
    "lyrics": "",
}


def test_only_what_differs_is_changed_in_the_order_of_the_desk():
    texts = {"transcript": "dong", "reference": "A bell.\nTwice.", "question": "Who rings?"}
    assert changed_texts(BEFORE, texts) == {"question": "Who rings?", "transcript": "dong"}


@pytest.mark.parametrize("text", ["A bell.\r\nTwice.", " A bell.\nTwice.\n\n"])
def test_blanks_at_the_ends_and_a_browsers_new_lines_are_no_change(text):
    assert changed_texts(BEFORE, {"reference": text}) == {}


def test_a_text_that_an_item_can_do_without_may_be_taken_away():
    assert validate_correction(BEFORE, {"transcript": "", "prompt": ""}, reason="wrong") == []
    assert changed_texts(BEFORE, {"transcript": " "}) == {"transcript": ""}


@pytest.mark.parametrize(
    ("texts", "reason", "field"),
    [
        ({"question": "\n"}, "wrong", "texts.question"),
        ({"audio": "x"}, "wrong", "texts.audio"),
        ({"question": "\ud800"}, "wrong", "texts.question"),
        ({"question": "x" * (MAX_TEXT_LENGTH + 1)}, "wrong", "texts.question"),
        ({"question": "Who?"}, "", "reason"),
    ],
)
def test_every_fault_names_its_field(texts, reason, field):
    assert [fault.field for fault in validate_correction(BEFORE, texts, reason=reason)] == [field]
