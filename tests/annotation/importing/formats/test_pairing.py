"""Pairs of systems: all, with a baseline, and samples whose balance is counted by brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import pytest

from annotation.importing.formats.pairing import (
    Pairing,
    PairingError,
    balanced_order,
    choose_pairs,
    counts_of,
    parse_pairing,
)


def chosen(groups: list[str], how: str) -> list[list[tuple[str, str]]]:
    return list(choose_pairs(groups, parse_pairing(how)))


def spread(counter: Counter, of) -> int:
    counts = [counter[each] for each in of]
    return max(counts) - min(counts)


def test_all_pairs_of_each_prompt_and_all_with_the_baseline():
    assert chosen(["CAB", "AB", "A"], "all") == [[("A", "B"), ("A", "C"), ("B", "C")], [("A", "B")], []]
    assert chosen(["ABC", "AC", "AB"], "baseline:B") == [[("A", "B"), ("B", "C")], [], [("A", "B")]]


def test_a_baseline_that_made_no_clip_is_told_with_the_systems_there_are():
    with pytest.raises(PairingError, match=r"'Z'.*The systems are A, B"):
        chosen(["AB"], "baseline:Z")


@pytest.mark.parametrize("how", ["all", "baseline:my:model", "sample:3", "sample:3:7"])
def test_a_pairing_is_read_as_it_is_written(how):
    assert str(parse_pairing(how)) == how


@pytest.mark.parametrize(
    "how", ["some", "baseline:", "sample:", "sample:0", "sample:x", "sample:1:2:3", "all:2"]
)
def test_what_is_no_pairing_is_told_with_what_is(how):
    with pytest.raises(PairingError, match="Use all, baseline:NAME, or sample:N"):
        parse_pairing(how)


@pytest.mark.parametrize("n", range(2, 13))
def test_every_part_of_the_balanced_order_is_balanced(n):
    systems = [f"s{number:02}" for number in range(n)]
    order = balanced_order(systems)
    assert sorted(order) == list(combinations(systems, 2))
    seen: Counter[str] = Counter()
    for pair in order:
        seen.update(pair)
        assert spread(seen, systems) <= 1


@pytest.mark.parametrize("n_systems", [3, 4, 5])
@pytest.mark.parametrize("n_prompts", [1, 4, 8])
@pytest.mark.parametrize("per_prompt", [1, 2, 4])
def test_a_sample_of_a_complete_design_is_as_even_as_counts_can_be(n_systems, n_prompts, per_prompt):
    systems = "ABCDE"[:n_systems]
    sample = chosen([systems] * n_prompts, f"sample:{per_prompt}")
    pairs, of_system = counts_of(sample)
    possible = list(combinations(systems, 2))
    assert {len(several) for several in sample} == {min(per_prompt, len(possible))}
    assert all(len(set(several)) == len(several) for several in sample)
    assert spread(pairs, possible) <= 1
    assert spread(of_system, systems) <= 1


def squares(sample) -> tuple[int, int]:
    return tuple(sum(n * n for n in counter.values()) for counter in counts_of(sample))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("groups", "n"),
    [
        (["ABC", "ABC", "AB"], 1),
        (["ABC", "AB", "BC", "ABC"], 1),
        (["ABCD", "ABC", "CD"], 2),
        (["AB", "AB", "AC", "ABC"], 1),
        (["ABCD", "ABD", "BCD"], 2),
        (["ABC", "ABD", "ACD", "BCD"], 1),
    ],
)
def test_a_sample_with_gaps_is_as_even_as_the_best_of_all_samples(groups, n):
    choices = [
        list(combinations(several, min(n, len(several))))
        for several in (list(combinations(group, 2)) for group in groups)
    ]
    best = min(squares(sample) for sample in product(*choices))
    assert squares(chosen(groups, f"sample:{n}")) == best


def test_a_sample_is_the_same_for_its_seed_and_not_the_order_of_the_prompts():
    groups = ["ABCDE"] * 10
    assert chosen(groups, "sample:2") == chosen(groups, "sample:2")
    assert chosen(groups, "sample:2") != chosen(groups, "sample:2:99")
    # A rhythm of three pairs would follow every rhythm of the prompts.
    rhythm = [several[0] for several in chosen(["ABC"] * 12, "sample:1")]
    assert rhythm[:3] * 4 != rhythm


def test_two_systems_have_one_pair_however_many_are_wanted():
    assert list(choose_pairs(["AB", "BA"], Pairing("sample", n=5))) == [[("A", "B")], [("A", "B")]]
