"""Attention within windows of a long sequence, all windows at once.

The audio towers of the Omni models attend within windows of a second or two. Without FlashAttention, transformers runs
one window after the other: thousands of tiny kernels for a batch. Here they are stacked, and one kernel does it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

# transformers hands the windows' borders only to implementations that call themselves flash.
NAME = "windows_like_flash"


def attend_within_windows(tower: Any) -> None:
    AttentionInterface.register(NAME, _attention)
    tower.config._attn_implementation = NAME


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    scaling: float,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """`query`, `key`, `value`: (1, heads, length, width), windows one after the other, bordered by `cu_seq_lens_q`.
    Returns (1, length, heads, width)."""
    starts, ends = cu_seq_lens_q[:-1, None].long(), cu_seq_lens_q[1:, None].long()
    places = starts + torch.arange(max_length_q, device=query.device)
    inside = places < ends
    even = inside.numel() == query.shape[2]
    places = places.clamp_max(query.shape[2] - 1)
    q, k, v = (tensor[0].transpose(0, 1)[places].transpose(1, 2) for tensor in (query, key, value))
    mask = None if even else inside[:, None, None, :]
    found = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling).transpose(1, 2)
    return (found.flatten(0, 1) if even else found[inside])[None], None
