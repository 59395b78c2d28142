"""Audio Flamingo 3: base, chat, and think, which is the base with an adapter from a folder inside its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import WhisperFeatureExtractor

from scoring.backbones.listening import Family, Features, Samples, n_pooled, padded_mel, too_short
from scoring.backbones.whisper_tower import encode, n_frames_seen


class AudioFlamingoListener:
    """25 embeddings a second, from windows of 30 s that do not see each other; ten minutes at most, as its processor
    says, which would cut the rest off."""

    seconds = 600.0

    def __init__(self, model: Any, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._model = model.model

    def features(self, samples: Samples) -> Features:
        size = self._extractor.n_samples
        windows = [samples[start : start + size] for start in range(0, len(samples), size)]
        found = [padded_mel(self._extractor, window, n_samples=size) for window in windows]
        n_frames = [n for _, n in found]
        if not any(map(n_pooled, n_frames)):
            raise too_short()
        seen = n_frames_seen(max(n_frames), longest=found[0][0].shape[1])
        return {"mel": torch.stack([mel[:, :seen] for mel, _ in found]), "n_frames": torch.tensor(n_frames)}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        mels = [mel for one in features for mel in one["mel"]]
        n_frames = [int(n) for one in features for n in one["n_frames"]]
        heard = iter(encode(self._model.audio_tower, mels, n_frames))
        whole = [torch.cat([next(heard) for _ in one["mel"]]) for one in features]
        return [self._model.multi_modal_projector(one) for one in whole]


FAMILY = Family(
    title="Audio Flamingo 3",
    model_types=("audioflamingo3",),
    model_class="AudioFlamingo3ForConditionalGeneration",
    version=2,
    listener=AudioFlamingoListener,
)
