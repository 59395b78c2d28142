"""Qwen3-Omni, the part that listens and answers in writing (its thinker, a mixture of experts)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import WhisperFeatureExtractor

from scoring.backbones.listening import Family, Features, Samples, too_short
from scoring.backbones.windows import attend_within_windows


class Qwen3OmniListener:
    """13 embeddings a second. Its report states 40 minutes as the longest sound; its processor cuts nothing."""

    seconds = 40 * 60.0

    def __init__(self, model: Any, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._tower = model.model.audio_tower
        model.model.visual = None
        attend_within_windows(self._tower)

    def features(self, samples: Samples) -> Features:
        """Unlike its forerunners, it is given no silence after the sound: as its processor does with one sound alone.
        Several at once it pads to the longest, which changes their last frame; a score must not depend on that."""
        if len(samples) <= self._extractor.n_fft // 2:
            # Its first frame reaches as far to the left, where the sound is mirrored.
            raise too_short()
        found = self._extractor(
            samples, sampling_rate=self._extractor.sampling_rate, padding="longest", truncation=False,
            return_attention_mask=True, return_tensors="pt",
        )  # fmt: skip
        return {"mel": found["input_features"][0][:, : int(found["attention_mask"].sum())]}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        """The tower pads chunks to the longest at hand before it convolves them, which shows in the last embedding. A
        sound of several chunks is padded alike in any company; one of less than a chunk (a second) goes alone."""
        mels = [one["mel"] for one in features]
        together = [mel for mel in mels if mel.shape[1] >= self._chunk]
        found = iter(self._embed(together) if together else [])
        return [next(found) if mel.shape[1] >= self._chunk else self._embed([mel])[0] for mel in mels]

    @property
    def _chunk(self) -> int:
        return 2 * int(self._tower.n_window)

    def _embed(self, mels: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        device = self._tower.conv2d1.weight.device
        lengths = [mel.shape[1] for mel in mels]
        found = self._tower(
            torch.cat(list(mels), dim=1).to(device), feature_lens=torch.tensor(lengths, device=device)
        )
        return list(found.last_hidden_state.split([self._n_embeddings(length) for length in lengths]))

    def _n_embeddings(self, n_frames: int) -> int:
        """Three strided convolutions over chunks, the last chunk as long as it is."""
        n_chunks, rest = divmod(n_frames, self._chunk)
        return n_chunks * _thrice_halved(self._chunk) + _thrice_halved(rest)


def _thrice_halved(n_frames: int) -> int:
    return -(-n_frames // 8)


FAMILY = Family(
    title="Qwen3-Omni",
    model_types=("qwen3_omni_moe", "qwen3_omni_moe_thinker"),
    model_class="Qwen3OmniMoeThinkerForConditionalGeneration",
    version=2,
    listener=Qwen3OmniListener,
)
