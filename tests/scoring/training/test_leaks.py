"""What lies in two parts of a split is refused, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scoring.metrics.contract import Sound
from scoring.training import splits
from scoring.training.contract import ComparedPair, Prompt, RatedAnswer, Split, TrainingError


def answer(key: str, group: str, **fields: str) -> RatedAnswer:
    return RatedAnswer(key=key, group=group, system="s", candidate="yes", ratings=(5.0,), **fields)


def pair(key: str, first: str, second: str, text: str) -> ComparedPair:
    sounds = [Sound(sha, Path(f"/{sha}.flac"), 10.0) for sha in (first, second)]
    return ComparedPair(key=key, group=key, prompt=Prompt(text), first=sounds[0], second=sounds[1], votes={})


def test_a_split_by_groups_passes():
    splits.refuse_leakage(
        Split([answer("a", "1"), answer("b", "1")], [answer("c", "2")], []), splits.ANSWER_LEAKAGE_KEYS
    )


def test_groups_in_two_parts_are_counted_and_named():
    train = [answer(f"a{at}", f"g{at}") for at in range(7)]
    test = [answer(f"b{at}", f"g{at}") for at in range(7)]
    with pytest.raises(TrainingError) as refused:
        splits.refuse_leakage(Split(train, [], test), splits.ANSWER_LEAKAGE_KEYS)
    assert refused.value.code == "leak"
    said = str(refused.value)
    assert "7 groups lie in two splits: g0 (train, test), " in said
    assert "and 2 more" in said
    assert "split by groups" in said


def test_a_question_with_its_reference_in_two_groups_leaks_and_its_words_alone_do_not():
    train = [answer("a", "1", question="What is it?", reference="A dog"), answer("b", "2", question="Why?")]
    test = [answer("c", "3", question="what  is it?", reference="a dog"), answer("d", "4", question="Why?")]
    with pytest.raises(
        TrainingError, match=r"^1 question lies in two splits: what is it\? / a dog \(train, test\)\."
    ):
        splits.refuse_leakage(Split(train, [], test), splits.ANSWER_LEAKAGE_KEYS)


def test_a_clip_or_a_prompt_in_two_groups_leaks():
    split = Split(
        [pair("1", "aa", "bb", "jazz")], [pair("2", "bb", "cc", "rock")], [pair("3", "dd", "ee", " jazz ")]
    )
    with pytest.raises(TrainingError) as refused:
        splits.refuse_leakage(split, splits.PAIR_LEAKAGE_KEYS)
    said = str(refused.value)
    assert "1 clip lies in two splits: bb (train, dev)" in said
    assert "1 prompt lies in two splits: jazz (train, test)" in said
    assert "group" not in said.partition(". What")[0]


def test_absent_prompts_are_no_leak():
    splits.refuse_leakage(
        Split([pair("1", "aa", "bb", "")], [], [pair("2", "cc", "dd", " ")]), splits.PAIR_LEAKAGE_KEYS
    )
