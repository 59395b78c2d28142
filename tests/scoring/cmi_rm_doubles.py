"""An encoder of music without a model, and a small CMI-RM on disk that is built on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from scoring.backbones.encoders.music_features import CachedMusicEncoder, Samples
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.cmi_rm.checkpoint import Recipe, save_checkpoint
from scoring.metrics.cmi_rm.inputs import InputSettings
from scoring.metrics.cmi_rm.model import CmiRm, Shape

WIDTH = 8
RATE = 4000
SHAPE = Shape(
    encoder_width=WIDTH, width=16, heads=2, head_width=8, feed_forward=24, prompt_depth=2, joint_depth=1, score_width=12
)  # fmt: skip


class Loudness(CachedMusicEncoder):
    """Four frames a second, each a few sines of its loudness; a token for each letter. `heard` counts spans encoded."""

    identity: Mapping[str, Any] = {"encoder": "loudness/1"}

    def __init__(self, cache: FeatureCache) -> None:
        super().__init__(width=WIDTH, identity=self.identity, rate=RATE, cache=cache)
        self.heard = 0

    def _encode_sound(self, samples: Samples) -> torch.Tensor:
        self.heard += 1
        frames = torch.from_numpy(samples).split(RATE // 4)
        return _wave(torch.stack([frame.square().mean() for frame in frames]) * 99)

    def _encode_text(self, text: str) -> torch.Tensor:
        return _wave(torch.tensor([0, *text.encode()]) / 40)


def small_cmi_rm(folder: Path, feeding: InputSettings | None = None, **recipe: Any) -> Path:
    torch.manual_seed(3)
    model = CmiRm(SHAPE)
    for name, tensor in model.state_dict().items():
        # As initialised it hardly looks at the prompt.
        if name.startswith(("prompt_layers", "joint_layers")):
            tensor.add_(0.4 * torch.randn_like(tensor))
    given = {"shape": SHAPE, "encoder": "built-in", "encoder_identity": dict(Loudness.identity), **recipe}
    save_checkpoint(folder, model, Recipe(feeding=feeding or InputSettings(), **given))
    return folder


def edited(folder: Path, **changes: Any) -> Path:
    """With these values in its config.json; None takes one out."""
    file = folder / "config.json"
    config = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({name: value for name, value in config.items() if value is not None}))
    return folder


def _wave(values: torch.Tensor) -> torch.Tensor:
    """(tokens, width)."""
    return torch.sin(values.float()[:, None] * torch.arange(1, WIDTH + 1))
