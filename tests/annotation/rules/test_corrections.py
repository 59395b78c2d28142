"""What a corrected text differs in, and what is no correction."""

from __future__ import annotations

import pytest

from annotation.rules.corrections import MAX_LENGTH, changes, faults

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
    assert changes(BEFORE, texts) == {"question": "Who rings?", "transcript": "dong"}


@pytest.mark.parametrize("text", ["A bell.\r\nTwice.", " A bell.\nTwice.\n\n"])
def test_blanks_at_the_ends_and_a_browsers_new_lines_are_no_change(text):
    assert changes(BEFORE, {"reference": text}) == {}


def test_a_text_that_an_item_can_do_without_may_be_taken_away():
    assert faults(BEFORE, {"transcript": "", "prompt": ""}, reason="wrong") == []
    assert changes(BEFORE, {"transcript": " "}) == {"transcript": ""}


@pytest.mark.parametrize(
    ("texts", "reason", "field"),
    [
        ({"question": "\n"}, "wrong", "texts.question"),
        ({"audio": "x"}, "wrong", "texts.audio"),
        ({"question": "\ud800"}, "wrong", "texts.question"),
        ({"question": "x" * (MAX_LENGTH + 1)}, "wrong", "texts.question"),
        ({"question": "Who?"}, "", "reason"),
    ],
)
def test_every_fault_names_its_field(texts, reason, field):
    assert [fault.field for fault in faults(BEFORE, texts, reason=reason)] == [field]
