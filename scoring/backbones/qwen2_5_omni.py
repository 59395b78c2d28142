"""Qwen2.5-Omni, the part that listens and answers in writing (its thinker)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import WhisperFeatureExtractor

from scoring.backbones.listening import Family, Features, Samples, n_pooled, padded_mel, too_short
from scoring.backbones.windows import attend_within_windows


class Qwen25OmniListener:
    """25 embeddings a second. The longest sound is the front end's chunk length: 300 s as published."""

    def __init__(self, model: Any, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._tower = model.model.audio_tower
        self.seconds = float(extractor.chunk_length)
        # Never used here, and 0.7 billion parameters in the published models.
        model.model.visual = None
        attend_within_windows(self._tower)

    def features(self, samples: Samples) -> Features:
        """The processor pads to 300 s before it transforms. As much silence as a window reaches over gives the same
        frames at a fraction of the work."""
        extractor = self._extractor
        n_samples = len(samples) + extractor.n_fft
        n_samples += -n_samples % extractor.hop_length
        mel, n_frames = padded_mel(extractor, samples, n_samples=n_samples)
        if not n_pooled(n_frames):
            raise too_short()
        return {"mel": mel[:, :n_frames]}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        device = self._tower.conv1.weight.device
        lengths = [one["mel"].shape[1] for one in features]
        found = self._tower(
            torch.cat([one["mel"] for one in features], dim=1).to(device),
            feature_lens=torch.tensor(lengths, device=device),
        )
        return list(found.last_hidden_state.split([n_pooled(length) for length in lengths]))


FAMILY = Family(
    title="Qwen2.5-Omni",
    model_types=("qwen2_5_omni", "qwen2_5_omni_thinker"),
    model_class="Qwen2_5OmniThinkerForConditionalGeneration",
    version=2,
    listener=Qwen25OmniListener,
)
