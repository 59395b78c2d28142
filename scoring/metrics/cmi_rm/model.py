"""CMI-RM network: transformer layers, alignment and musicality scores (CMI-RewardBench, §3.3.1).

Pre-norm and residual throughout, without biases, without positions. x is (batch, tokens, width); a mask is (batch,
tokens), true where there is a token. What lies outside of its mask has no influence on what lies within.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, layer_norm, normalize, scaled_dot_product_attention

# Queries and keys have length 1, so that the softmax would be almost flat without it.
_SCALE = 8.0

# Not minus infinity: a row where all is masked stays a number, which nobody reads.
_MASKED_LOGIT = -1e9


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
        q, k, v = (_split_heads(part, self.heads) for part in (self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)))
        q, k = normalize(q, dim=-1) * self.q_scale, normalize(k, dim=-1) * self.k_scale
        attended = scaled_dot_product_attention(q, k, v, attn_mask=_additive_mask(mask, x), scale=_SCALE)
        return _join_heads(self.to_out, attended)


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
        q, k, v = (_split_heads(part, self.heads) for part in (self.to_q(self.norm_q(x)), k, v))
        # Of a prompt with nothing in it there is nothing to add, rather than the mean of its padding.
        v = v * prompt_mask[:, None, :, None]
        attended = scaled_dot_product_attention(q, k, v, attn_mask=_additive_mask(prompt_mask, x))
        return _join_heads(self.to_out, attended)


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


class Layer(nn.Module):
    """Attention of x to itself; where it `crosses`, then to the prompt."""

    def __init__(self, width: int, *, crosses: bool, heads: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads=heads, head_width=head_width)
        if crosses:
            self.cross_attention = CrossAttention(width, heads=heads, head_width=head_width)
        self.feed_forward = FeedForward(width, hidden=hidden)

    def forward(
        self, x: Tensor, mask: Tensor, prompt: Tensor | None = None, prompt_mask: Tensor | None = None
    ) -> Tensor:
        x = x + self.attention(x, mask)
        if prompt is not None:
            x = x + self.cross_attention(x, prompt, prompt_mask)
        x = x + self.feed_forward(x)
        return x


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """(batch, tokens, heads * head_width) to (batch, heads, tokens, head_width)."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def _join_heads(to_out: nn.Linear, x: Tensor) -> Tensor:
    joined: Tensor = to_out(x.transpose(1, 2).flatten(2))
    return joined


def _additive_mask(mask: Tensor, like: Tensor) -> Tensor:
    """(batch, 1, 1, keys), to be added to the logits."""
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill(~mask, _MASKED_LOGIT)[:, None, None]


# ── the network: from a prompt's and a sound's tokens to alignment and musicality (CMI-RewardBench, §3.3.1) ──

OUTPUTS = ("alignment", "musicality")


@dataclass(frozen=True)
class Shape:
    """The size of a model. The defaults are the paper's: a prompt transformer of 4 layers and a joint one of 1, as
    wide as MuQ-MuLan's towers. (The released code's own defaults are 1 and 4, which come to as many parameters.)

    Where `encoder_width` is another than `width`, tokens of prompt and sound first pass through one linear map, which
    is ours. `joint` is "self" where the sound's tokens attend to prompt and sound together, as in the paper, and
    "cross" where to one after the other.
    """

    encoder_width: int = 768
    width: int = 768
    heads: int = 8
    head_width: int = 64
    feed_forward: int = 2048
    prompt_depth: int = 4
    joint_depth: int = 1
    joint: Literal["self", "cross"] = "self"
    score_width: int = 512


class CmiRm(nn.Module):
    """Two scores for each prompt and sound, unbounded: the difference of two sounds' scores for one prompt is the
    log-odds that the first is preferred (equation 5)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

        def layers(depth: int, *, crosses: bool = False) -> nn.ModuleList:
            sizes = {"heads": shape.heads, "head_width": shape.head_width, "hidden": shape.feed_forward}
            return nn.ModuleList(Layer(shape.width, crosses=crosses, **sizes) for _ in range(depth))

        self.entry: nn.Module = (
            nn.Identity()
            if shape.encoder_width == shape.width
            else nn.Linear(shape.encoder_width, shape.width, bias=False)
        )
        self.prompt_layers = layers(shape.prompt_depth)
        self.joint_layers = layers(shape.joint_depth, crosses=shape.joint == "cross")
        self.score = nn.Sequential(
            nn.LayerNorm(shape.width),
            nn.Linear(shape.width, shape.score_width),
            nn.ReLU(),
            nn.Linear(shape.score_width, len(OUTPUTS)),
        )

    def forward(
        self, prompt_tokens: Tensor, prompt_mask: Tensor, eval_tokens: Tensor, eval_mask: Tensor
    ) -> Tensor:
        """Shape (n, 2), in the order of OUTPUTS.

        `prompt_tokens` (n, p, encoder_width), p of at least 1, holds text, lyrics and reference one after the other,
        `eval_tokens` (n, s, encoder_width) the sound. The masks, (n, p) and (n, s), are true where there is a token:
        a prompt's may be false throughout, a sound's may not. Rows do not depend on each other, nor on the padding.
        """
        prompt, sound = self.entry(prompt_tokens), self.entry(eval_tokens)
        for layer in self.prompt_layers:
            prompt = layer(prompt, prompt_mask)
        if self.shape.joint == "self":
            both, mask = torch.cat([prompt, sound], dim=1), torch.cat([prompt_mask, eval_mask], dim=1)
            for layer in self.joint_layers:
                both = layer(both, mask)
            sound = both[:, prompt.shape[1] :]
        else:
            for layer in self.joint_layers:
                sound = layer(sound, eval_mask, prompt, prompt_mask)
        scores: Tensor = self.score(_masked_mean(sound, eval_mask))
        return scores


def _masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """Over the tokens there are."""
    present = mask[:, :, None].to(x.dtype)
    return (x * present).sum(dim=1) / present.sum(dim=1).clamp(min=1)
