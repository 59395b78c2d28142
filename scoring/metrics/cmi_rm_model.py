"""CMI-RM: from a prompt's tokens and a sound's to its alignment and its musicality (CMI-RewardBench, §3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from scoring.metrics.cmi_rm_layers import CrossLayer, SelfLayer

OUTPUTS = ("alignment", "musicality")


@dataclass(frozen=True)
class Shape:
    """How large a model is. The defaults are the paper's: a prompt transformer of 4 layers and a joint one of 1, as
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
        sizes = {"heads": shape.heads, "head_width": shape.head_width, "hidden": shape.feed_forward}
        layer = SelfLayer if shape.joint == "self" else CrossLayer
        self.entry: nn.Module = (
            nn.Identity()
            if shape.encoder_width == shape.width
            else nn.Linear(shape.encoder_width, shape.width, bias=False)
        )
        self.prompt_layers = nn.ModuleList(SelfLayer(shape.width, **sizes) for _ in range(shape.prompt_depth))
        self.joint_layers = nn.ModuleList(layer(shape.width, **sizes) for _ in range(shape.joint_depth))
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
        scores: Tensor = self.score(_mean(sound, eval_mask))
        return scores


def _mean(x: Tensor, mask: Tensor) -> Tensor:
    """Over the tokens there are."""
    present = mask[:, :, None].to(x.dtype)
    return (x * present).sum(dim=1) / present.sum(dim=1).clamp(min=1)
