from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from scoring.backbones.audio_lm.model import Row, pack, split
from scoring.metrics.batching import group_by_length

CPU = torch.device("cpu")
TOKENS = st.lists(st.integers(1, 3), min_size=2, max_size=8)


@given(st.lists(TOKENS, min_size=1, max_size=4))
def test_a_row_holds_each_prompt_whole(prompts):
    row = split(prompts)
    assert [[*row.shared, *question] for question in row.questions] == prompts
    assert all(row.questions)


def test_what_all_prompts_share_is_held_once():
    assert split([[1, 2, 3, 4], [1, 2, 5]]) == Row((1, 2), ((3, 4), (5,)))
    assert split([[1, 2, 3], [1, 2, 3]]) == Row((1, 2), ((3,), (3,)))
    assert split([[1, 2], [1, 2, 3]]) == Row((1,), ((2,), (2, 3)))


@given(st.lists(st.lists(TOKENS, min_size=1, max_size=4), min_size=1, max_size=3), st.integers(0, 5))
def test_a_token_sees_what_comes_before_it_in_its_own_prompt_and_nothing_else(batch, n_before):
    rows = [split(prompts) for prompts in batch]
    packed = pack(rows, n_before=n_before, device=CPU)
    lasts = iter(zip(packed.rows.tolist(), packed.columns.tolist(), strict=True))
    for r, prompts in enumerate(batch):
        for prompt in prompts:
            found, column = next(lasts)
            assert found == r
            seen = packed.mask[r, 0, column]
            assert bool(seen[:n_before].all())
            columns = seen[n_before:].nonzero().squeeze(1)
            assert packed.ids[r, columns].tolist() == prompt
            assert packed.positions[r, columns].tolist() == list(range(n_before, n_before + len(prompt)))


def test_every_token_sees_something():
    packed = pack([Row((1,), ((2, 3),)), Row((1, 2, 3), ((4,), (5,)))], n_before=0, device=CPU)
    assert bool(packed.mask.any(dim=-1).all())


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 200))
def test_groups_hold_every_row_once_and_no_more_tokens_than_allowed(lengths, n_tokens):
    found = group_by_length(lengths, n_tokens=n_tokens)
    assert sorted(i for group in found for i in group) == list(range(len(lengths)))
    for group in found:
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= n_tokens
