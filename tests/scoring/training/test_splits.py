"""Which answers go into train, dev and test."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.contract import Sound
from scoring.training import splits
from scoring.training.contract import ComparedPair, Prompt, RatedAnswer, Split, TrainingError
from scoring.training.splits import Shares, split_by_group, split_by_system


def answers(n_groups: int, *, prefix: str = "q", each: int = 2) -> list[RatedAnswer]:
    return [
        RatedAnswer(
            key=f"{prefix}{group}-{system}",
            group=f"{prefix}{group}",
            system=f"s{system}",
            candidate="yes",
            strata={"modality": ("speech", "music")[group % 2], "category": f"c{group % 3}"},
        )
        for group in range(n_groups)
        for system in range(each)
    ]


def parts(rows: list[RatedAnswer], **how) -> dict[str, str]:
    found = split_by_group(rows, **how)
    return {row.group: name for name in splits.PARTS for row in getattr(found, name)}


def test_groups_stay_whole_and_every_answer_is_somewhere():
    rows = answers(100, each=3)
    found = split_by_group(rows, seed=1)
    groups = [{row.group for row in part} for part in (found.train, found.dev, found.test)]
    assert sum(map(len, groups)) == 100
    assert sorted(row.key for part in (found.train, found.dev, found.test) for row in part) == sorted(
        row.key for row in rows
    )


def test_each_stratum_is_split_eight_to_one_to_one():
    rows = answers(600)
    part = parts(rows, seed=3)
    stratum = {row.group: tuple(row.strata.values()) for row in rows}
    count = Counter((stratum[group], name) for group, name in part.items())
    for one in set(stratum.values()):
        assert [count[one, name] for name in splits.PARTS] == pytest.approx([80, 10, 10], abs=1)


def test_the_split_that_a_source_names_is_no_stratum_of_one_drawn_here():
    rows = answers(60)
    named = [dataclasses.replace(row, strata={**row.strata, "split": row.group[-1]}) for row in rows]
    assert parts(named, seed=3) == parts(rows, seed=3)


def test_the_same_seed_gives_the_same_split_in_any_order_and_another_seed_another():
    rows = answers(60)
    assert parts(rows, seed=5) == parts(rows[::-1], seed=5)
    assert parts(rows, seed=5) != parts(rows, seed=6)


def test_a_split_is_the_same_on_every_machine():
    part = parts(answers(12, each=1), seed=0)
    assert [group for group, name in part.items() if name != "train"] == ["q7", "q6"]


def test_groups_that_join_move_next_to_nothing():
    before = parts(answers(300), seed=2)
    after = parts(answers(300) + answers(30, prefix="new"), seed=2)
    moved = sum(after[group] != name for group, name in before.items())
    assert moved <= 6 * 2 * 2  # at the two cuts of each of six strata


@given(st.integers(3, 60), st.integers(0, 5))
def test_no_part_is_empty_where_there_are_three_groups(n, seed):
    assert set(parts(answers(n), seed=seed).values()) == set(splits.PARTS)


def test_a_part_without_a_share_gets_nothing():
    assert set(parts(answers(50), seed=1, shares=Shares(8, 1, 0)).values()) == {"train", "dev"}
    assert set(parts(answers(50), seed=1, shares=Shares(8, 0, 1)).values()) == {"train", "test"}
    assert set(parts(answers(50), seed=1, shares=Shares(1, 0, 0)).values()) == {"train"}
    with pytest.raises(ValueError, match="learned from"):
        Shares(0, 1, 1)


def test_rows_that_share_a_link_through_others_are_one_group():
    found = splits.connected_groups({"a": ["x", "y"], "b": ["y", "z"], "c": ["w"], "d": ["z"]})
    assert found == {"a": "x", "b": "x", "c": "w", "d": "x"}
    with pytest.raises(ValueError, match="a has nothing"):
        splits.connected_groups({"a": []})


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3), max_size=12))
def test_components_are_those_of_a_search_of_the_graph(links):
    rows = {f"row{at}": its for at, its in enumerate(links)}
    found = splits.connected_groups(rows)
    for row, its in rows.items():
        reached, before = set(its), set()
        while reached != before:
            before = set(reached)
            reached |= {link for other in rows.values() if reached & set(other) for link in other}
        assert found[row] == min(reached)


def test_five_splits_of_two_systems_cover_ten():
    names = [f"s{at}" for at in range(15)]
    found = splits.held_out_systems(names, seed=0)
    assert [len(pair) for pair in found] == [2] * 5
    assert len({name for pair in found for name in pair}) == 10
    assert found == splits.held_out_systems(names[::-1], seed=0)
    assert len(splits.held_out_systems(names[:7], seed=0)) == 3
    with pytest.raises(TrainingError, match="at least 4; there are 3") as refused:
        splits.held_out_systems(names[:3], seed=0)
    assert refused.value.code == "too_few"


def test_held_out_systems_are_tested_and_nothing_of_them_is_learned():
    found = split_by_system(answers(40, each=5), ("s1", "s3"), systems=lambda row: (row.system,), seed=1)
    assert {row.system for row in found.test} == {"s1", "s3"}
    assert {row.system for row in (*found.train, *found.dev)} == {"s0", "s2", "s4"}
    assert not {row.group for row in found.train} & {row.group for row in found.dev}
    assert len(found.test) == 80


def test_raters_are_held_out_by_a_hash_of_their_names():
    names = [f"r{at}" for at in range(30)]
    found = splits.held_out_raters(names, share=0.2, seed=0)
    assert len(found) == 6
    joined = splits.held_out_raters([*names, "newcomer"], share=0.2, seed=0)
    assert len(found - joined) <= 1
    assert splits.held_out_raters(names, share=0, seed=0) == frozenset()
    assert splits.held_out_raters(["one"], share=0.5, seed=0) == frozenset()
    assert len(splits.held_out_raters(["one", "two"], share=0.9, seed=0)) == 1


# ── what lies in two parts of a split is refused, by name ──


def answer(key: str, group: str, **fields: str) -> RatedAnswer:
    return RatedAnswer(key=key, group=group, system="s", candidate="yes", ratings=(5.0,), **fields)


def pair(key: str, first: str, second: str, text: str) -> ComparedPair:
    sounds = [Sound(sha, Path(f"/{sha}.flac"), 10.0) for sha in (first, second)]
    return ComparedPair(key=key, group=key, prompt=Prompt(text), first=sounds[0], second=sounds[1], votes={})


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


def test_a_split_by_groups_passes_and_absent_prompts_are_no_leak():
    answers = Split([answer("a", "1"), answer("b", "1")], [answer("c", "2")], [])
    splits.refuse_leakage(answers, splits.ANSWER_LEAKAGE_KEYS)
    pairs = Split([pair("1", "aa", "bb", "")], [], [pair("2", "cc", "dd", " ")])
    splits.refuse_leakage(pairs, splits.PAIR_LEAKAGE_KEYS)
