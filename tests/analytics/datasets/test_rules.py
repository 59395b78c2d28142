"""Splits without leaks, the check of finished rows that trusts no splitter, and rater weights."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from analytics.datasets import rules
from analytics.datasets.formats.contract import (
    GROUP_KINDS,
    Content,
    JudgedTask,
    TrainingSetOptions,
)
from analytics.datasets.rules import Vote, rater_weights
from annotation.errors import InvalidInput
from tests.analytics.datasets.formats.judged import clip, compared


def task_about(prompt: str, task: str, sound: str = "") -> JudgedTask:
    judged = compared("a", task)
    content = Content(prompt=prompt, reference_clip=clip(sound) if sound else None)
    return replace(judged, content=content)


def split(tasks: list[JudgedTask], groups: tuple[str, ...] = GROUP_KINDS, **options) -> dict[str, str]:
    standing = [rules.grouped_task(judged, groups) for judged in tasks]
    return rules.split_tasks(standing, TrainingSetOptions("arena", groups=groups, **options))


def test_what_shares_a_prompt_or_a_sound_is_in_one_split_through_others_too():
    chained = [
        task_about("A waltz", "one"),
        task_about("a WALTZ!", "two", "x"),
        task_about("A march", "three", "x"),
    ]
    for seed in range(20):
        parts = split([*chained, *(task_about(f"p{n}", f"t{n}") for n in range(20))], seed=seed)
        assert len({parts[name] for name in ("one", "two", "three")}) == 1


def test_only_what_is_named_is_kept_together():
    tasks = [task_about("A waltz", f"t{n}") for n in range(30)]
    assert len(set(split(tasks, ("clip",)).values())) == 3
    with pytest.raises(InvalidInput, match=r"in 1 group, for they share an item or a prompt"):
        split(tasks, ("prompt",))
    assert set(split(tasks, ("prompt",), ratios=(1, 0, 0)).values()) == {"train"}


def test_no_link_ever_lies_in_two_splits():
    drawn = random.Random(3)
    for seed in range(30):
        tasks = [
            task_about(f"prompt {drawn.randrange(30)}", f"t{n}", f"s{drawn.randrange(40)}") for n in range(40)
        ]
        try:
            parts = split(tasks, seed=seed)
        except InvalidInput:
            continue
        where: dict[str, set[str]] = {}
        for judged in tasks:
            for link in rules.grouped_task(judged, GROUP_KINDS).links:
                where.setdefault(link, set()).add(parts[judged.task])
        assert all(len(own) == 1 for own in where.values())


def test_the_split_does_not_hang_on_the_order_of_tasks():
    tasks = [task_about(f"p{n % 17}", f"t{n}") for n in range(60)]
    assert split(tasks, seed=4) == split(tasks[::-1], seed=4)
    assert split(tasks, seed=4) != split(tasks, seed=5)


def test_modalities_are_shared_out_alike():
    tasks = [
        replace(task_about(f"p{n}", f"t{n}"), strata={"modality": "music" if n < 100 else "speech"})
        for n in range(200)
    ]
    parts = split(tasks)
    for kind in (range(100), range(100, 200)):
        assert sum(parts[f"t{n}"] == "test" for n in kind) in (9, 10, 11)


# The check of finished rows.


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
    with pytest.raises(InvalidInput, match=told) as failed:
        report({**TEST, **leaking})
    assert failed.value.code == "leak"


def test_what_was_allowed_is_told_and_not_refused():
    found = report({**TEST, "prompt": "A slow waltz."}, groups=("clip",))
    assert found["prompt"] == {"checked": 2, "in_two_splits": 1, "refused": False}


def test_a_held_out_system_in_train_is_refused():
    with pytest.raises(InvalidInput, match="learned from all the same: one"):
        report(TEST, held_out=("one",))
    assert report(TEST, held_out=("two",))["system"] == {"held_out": ["two"], "in_train_or_dev": []}


# Rater weights.


CAREFUL_AND_NOT = [
    Vote(task, rater, choice)
    for task in range(20)
    for rater, choice in (("x", 1 + task % 2), ("y", 1 + task % 2), ("z", 1 + task // 2 % 2))
]


def by_pairs(votes: list[Vote]) -> dict[str, float]:
    """The formula that stands above the weights, pair by pair."""
    equal: dict[str, list[bool]] = {}
    for one, other in combinations(votes, 2):
        if one.task == other.task and one.rater and other.rater:
            for rater in (one.rater, other.rater):
                equal.setdefault(rater, []).append(one.choice == other.choice)
    choices = [vote.choice for vote in votes if vote.rater]
    chance = sum((choices.count(choice) / len(choices)) ** 2 for choice in set(choices))
    overall = sum(map(sum, equal.values())) / sum(map(len, equal.values()))
    weights = {
        rater: max(0.1, ((sum(own) + 10 * overall) / (len(own) + 10) - chance) / (1 - chance))
        for rater, own in equal.items()
    }
    n_votes = {rater: sum(vote.rater == rater for vote in votes) for rater in weights}
    mean = sum(weights[rater] * n_votes[rater] for rater in weights) / sum(n_votes.values())
    return {rater: weight / mean for rater, weight in weights.items()}


def test_whoever_agrees_with_the_others_weighs_more_and_the_mean_weight_of_a_vote_is_one():
    weights = rater_weights(CAREFUL_AND_NOT)
    assert weights == pytest.approx(by_pairs(CAREFUL_AND_NOT))
    assert weights["x"] == weights["y"] > 1 > weights["z"]
    mean = sum(weights[vote.rater] for vote in CAREFUL_AND_NOT) / len(CAREFUL_AND_NOT)
    assert mean == pytest.approx(1)


@pytest.mark.parametrize(
    "votes",
    [
        pytest.param([(0, "", 1), (0, "", 2)], id="nobody is named"),
        pytest.param([(0, "x", 1), (1, "y", 2)], id="no task in common"),
        pytest.param([(0, "x", 1), (0, "y", 1)], id="always the same answer"),
    ],
)
def test_nobody_is_weighed_where_there_is_nothing_to_tell_by(votes):
    assert rater_weights([Vote(*vote) for vote in votes]) == {}
