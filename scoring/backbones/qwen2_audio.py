"""Qwen2-Audio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import Qwen2AudioProcessor, WhisperFeatureExtractor

from scoring.backbones.listening import Family, Features, Samples, n_pooled, padded_mel, too_short
from scoring.backbones.whisper_tower import encode, n_frames_seen


class Qwen2AudioListener:
    """25 embeddings a second. It hears one window of Whisper: 30 s as published."""

    def __init__(self, model: Any, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._model = model.model
        self.seconds = float(extractor.chunk_length)

    def features(self, samples: Samples) -> Features:
        mel, n_frames = padded_mel(self._extractor, samples, n_samples=self._extractor.n_samples)
        if not n_pooled(n_frames):
            raise too_short()
        seen = mel[:, : n_frames_seen(n_frames, longest=mel.shape[1])]
        return {"mel": seen, "n_frames": torch.tensor([n_frames])}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        mels = [one["mel"] for one in features]
        n_frames = [int(one["n_frames"]) for one in features]
        heard = encode(self._model.audio_tower, mels, n_frames)
        return [self._model.multi_modal_projector(one) for one in heard]


def _template() -> str:
    """The processor's own: published checkpoints may have none in a file."""
    return str(object.__new__(Qwen2AudioProcessor).default_chat_template)


FAMILY = Family(
    title="Qwen2-Audio",
    model_types=("qwen2_audio",),
    model_class="Qwen2AudioForConditionalGeneration",
    version=2,
    listener=Qwen2AudioListener,
    template=_template,
)
