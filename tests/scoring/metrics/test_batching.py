from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example, Outcome, Sound
from tests.scoring.doubles import WordCount


def example(key: int, text: str) -> Example:
    return Example(key, (Sound("0" * 64, Path("sound.wav"), 1.0),), (text,))


def test_each_fault_stays_with_its_row():
    texts = ["one", "undecodable", "two words", "too much memory", "a nan here", "three more words"]
    outcomes = score_batch(WordCount(), [example(key, text) for key, text in enumerate(texts)])
    assert [outcome.fault.code if outcome.fault else outcome.readings["words"].value for outcome in outcomes] == [
        1.0, "undecodable", 2.0, "out_of_memory", "not_finite", 3.0,
    ]  # fmt: skip


@given(st.lists(st.sampled_from(["fine", "memory", "undecodable", "nan", "rest of it"]), max_size=30))
def test_every_example_has_one_outcome_in_its_order(texts):
    outcomes = score_batch(WordCount(), [example(key, text) for key, text in enumerate(texts)])
    assert [outcome.key for outcome in outcomes] == list(range(len(texts)))
    assert all(bool(outcome.readings) != bool(outcome.fault) for outcome in outcomes)


def test_a_metric_that_forgets_an_example_leaves_it_a_reason():
    class Forgetful(WordCount):
        def score(self, examples):
            return [Outcome(examples[0].key)][:0]

    (outcome,) = score_batch(Forgetful(), [example(7, "one")])
    assert outcome.fault.code == "no_answer"
