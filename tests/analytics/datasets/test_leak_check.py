"""The check of finished rows, which trusts no splitter."""

from __future__ import annotations

import pytest

from analytics.datasets import rules
from analytics.datasets.formats.contract import TrainingSetError

HOLDS = {"item": ("item",), "prompt": ("prompt", "lyrics"), "clip": ("a", "b"), "system": ("system",)}
TRAIN = {
    "item": "1",
    "prompt": "A slow waltz.",
    "lyrics": "",
    "a": "audio/x.flac",
    "b": None,
    "system": "one",
}
TEST = {"item": "2", "prompt": "A march", "lyrics": "La la", "a": "audio/y.flac", "b": None, "system": "two"}


def report(test: dict, *, groups=("prompt", "clip"), held_out=()):
    seen = rules.SplitContents()
    seen.look("train", [TRAIN, TRAIN], HOLDS)
    seen.look("test", [test], HOLDS)
    return rules.leak_report(seen, groups=groups, held_out=held_out)


def test_it_counts_what_it_looked_at():
    assert report(TEST)["prompt"] == {"checked": 3, "in_two_splits": 0, "refused": True}


@pytest.mark.parametrize(
    ("leaking", "told"),
    [
        ({"item": "1"}, r"1 item in two splits: '1' in test and train"),
        ({"b": "audio/x.flac"}, r"1 clip in two splits: 'audio/x.flac' in test and train"),
        (
            {"prompt": "a  slow WALTZ"},
            r"1 prompt in two splits: 'A slow waltz.' \([0-9a-f]{16}\) in test and train",
        ),
        ({"lyrics": "A slow – waltz"}, r"1 prompt in two splits"),
    ],
)
def test_it_fails_loudly_and_names_what_leaks(leaking, told):
    with pytest.raises(TrainingSetError, match=told) as failed:
        report({**TEST, **leaking})
    assert failed.value.code == "leak"


def test_what_was_allowed_is_told_and_not_refused():
    found = report({**TEST, "prompt": "A slow waltz."}, groups=("clip",))
    assert found["prompt"] == {"checked": 2, "in_two_splits": 1, "refused": False}


def test_a_held_out_system_in_train_is_refused():
    with pytest.raises(TrainingSetError, match="learned from all the same: one"):
        report(TEST, held_out=("one",))
    assert report(TEST, held_out=("two",))["system"] == {"held_out": ["two"], "in_train_or_dev": []}
