"""Whisper-like audio towers over the frames there are.

Qwen2-Audio and Audio Flamingo 3 run their tower over 30 s whatever a sound's length, and mask what lies behind it. Here
it runs over the longest sound of the batch: the same numbers, and for clips of 10 s a third of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import gelu, pad

from scoring.backbones.listening import n_pooled


def n_frames_seen(n_frames: int, *, longest: int) -> int:
    """How many mel frames reach what the tower makes of the first `n_frames`: its convolutions look one step ahead of
    the last, into the silence that follows."""
    return min(2 * ((n_frames - 1) // 2 + 1) + 1, longest)


def encode(tower: Any, mels: Sequence[torch.Tensor], n_frames: Sequence[int]) -> list[torch.Tensor]:
    """`mels`: (mels, frames seen) each, `n_frames` of them within the sound. Returns (tokens, width) each."""
    n_after = [(n - 1) // 2 + 1 for n in n_frames]
    longest = max(mel.shape[1] for mel in mels)
    stacked = torch.stack([pad(mel, (0, longest - mel.shape[1])) for mel in mels])
    hidden = gelu(tower.conv1(stacked.to(tower.conv1.weight)))
    hidden = gelu(tower.conv2(hidden)).permute(0, 2, 1)[:, : max(n_after)]
    hidden = hidden + tower.embed_positions.weight[: hidden.shape[1]]
    inside = torch.arange(hidden.shape[1]) < torch.tensor(n_after)[:, None]
    mask = None if bool(inside.all()) else inside[:, None, None, :].to(hidden.device)
    for layer in tower.layers:
        hidden = layer(hidden, mask)
    hidden = tower.avg_pooler(hidden.permute(0, 2, 1)).permute(0, 2, 1)
    hidden = tower.layer_norm(hidden)
    return [one[: n_pooled(n)] for one, n in zip(hidden, n_frames, strict=True)]
