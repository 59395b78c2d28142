"""The transformer layers of CMI-RM (CMI-RewardBench, §3.3.1; details that the paper leaves out are those of its code).

Pre-norm and residual throughout, without biases, without positions. x is (batch, tokens, width); a mask is (batch,
tokens), true where there is a token. What lies outside of its mask has no influence on what lies within.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, normalize, scaled_dot_product_attention

# Queries and keys have length 1, so that the softmax would be almost flat without it.
_SCALE = 8.0

# Not minus infinity: a row where all is masked stays a number, which nobody reads.
_MASKED = -1e9


class Norm(nn.Module):
    """Layer normalisation with a gain and no shift."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, x.shape[-1:], self.gain)


class SelfAttention(nn.Module):
    """Queries and keys are normalised to length 1, head by head, and stretched by learned factors that all heads
    share."""

    def __init__(self, width: int, *, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = Norm(width)
        self.to_q = nn.Linear(width, heads * head_width, bias=False)
        self.to_kv = nn.Linear(width, 2 * heads * head_width, bias=False)
        self.q_scale = nn.Parameter(torch.ones(head_width))
        self.k_scale = nn.Parameter(torch.ones(head_width))
        self.to_out = nn.Linear(heads * head_width, width, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.norm(x)
        q, k, v = (_split(part, self.heads) for part in (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)))
        q, k = normalize(q, dim=-1) * self.q_scale, normalize(k, dim=-1) * self.k_scale
        found = scaled_dot_product_attention(q, k, v, attn_mask=_added(mask, x), scale=_SCALE)
        return _joined(self.to_out, found)


class CrossAttention(nn.Module):
    """Plain attention from x to the prompt, each with a norm of its own."""

    def __init__(self, width: int, *, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_q = Norm(width)
        self.norm_kv = Norm(width)
        self.to_q = nn.Linear(width, heads * head_width, bias=False)
        self.to_kv = nn.Linear(width, 2 * heads * head_width, bias=False)
        self.to_out = nn.Linear(heads * head_width, width, bias=False)

    def forward(self, x: Tensor, prompt: Tensor, prompt_mask: Tensor) -> Tensor:
        k, v = self.to_kv(self.norm_kv(prompt)).chunk(2, dim=-1)
        q, k, v = (_split(part, self.heads) for part in (self.to_q(self.norm_q(x)), k, v))
        # Of a prompt with nothing in it there is nothing to add, rather than the mean of its padding.
        v = v * prompt_mask[:, None, :, None]
        found = scaled_dot_product_attention(q, k, v, attn_mask=_added(prompt_mask, x))
        return _joined(self.to_out, found)


class FeedForward(nn.Module):
    """One half of `widen` opens and closes the other (GEGLU)."""

    def __init__(self, width: int, *, hidden: int) -> None:
        super().__init__()
        self.norm = Norm(width)
        self.widen = nn.Linear(width, 2 * hidden, bias=False)
        self.narrow = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.widen(self.norm(x)).chunk(2, dim=-1)
        narrowed: Tensor = self.narrow(value * gelu(gate))
        return narrowed


class SelfLayer(nn.Module):
    def __init__(self, width: int, *, heads: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads=heads, head_width=head_width)
        self.feed_forward = FeedForward(width, hidden=hidden)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(x, mask)
        x = x + self.feed_forward(x)
        return x


class CrossLayer(nn.Module):
    """The sound to itself, then to the prompt."""

    def __init__(self, width: int, *, heads: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads=heads, head_width=head_width)
        self.cross_attention = CrossAttention(width, heads=heads, head_width=head_width)
        self.feed_forward = FeedForward(width, hidden=hidden)

    def forward(self, x: Tensor, mask: Tensor, prompt: Tensor, prompt_mask: Tensor) -> Tensor:
        x = x + self.attention(x, mask)
        x = x + self.cross_attention(x, prompt, prompt_mask)
        x = x + self.feed_forward(x)
        return x


def _split(x: Tensor, heads: int) -> Tensor:
    """(batch, tokens, heads * head_width) to (batch, heads, tokens, head_width)."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def _joined(to_out: nn.Linear, x: Tensor) -> Tensor:
    joined: Tensor = to_out(x.transpose(1, 2).flatten(2))
    return joined


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """(batch, 1, 1, keys), to be added to the logits."""
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, _MASKED)[:, None, None]
