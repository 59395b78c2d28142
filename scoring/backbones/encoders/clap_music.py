"""CLAP as an encoder of music: one token for each window of ten seconds, and for each piece of a text.

Its sequences are not what was trained; its embeddings are, where sounds and texts lie in one space. So a token is an
embedding of length 1: of a window, of which as many as cover the span are spread evenly from its start to its end, or
of 75 of a text's own tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import Clap, ClapParts
from scoring.backbones.encoders.contract import Span
from scoring.backbones.encoders.music_features import MusicFeatures, Samples
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.contract import ExampleError

# A change of this code that changes tokens takes a new number.
_VERSION = 1


def open_clap_music(
    checkpoint: str, *, folder: Path | None, device: torch.device, cache: FeatureCache
) -> ClapMusic:
    """`checkpoint` is named as for CLAPScore. Raises SetupError."""
    return ClapMusic(open_clap(checkpoint, folder=folder, device=device), device=device, cache=cache)


class ClapMusic:
    """A music_encoders.MusicEncoder."""

    def __init__(self, parts: ClapParts, *, device: torch.device, cache: FeatureCache) -> None:
        self._clap = Clap(parts, long_sounds="windows", device=device, cache=cache)
        self.width = int(parts.model.config.projection_dim)
        self.identity: Mapping[str, Any] = {"encoder": f"clap-music/{_VERSION}", **self._clap.identity}
        self._features = MusicFeatures(
            identity=self.identity, rate=int(parts.extractor.sampling_rate), cache=cache
        )

    def prepare(self, spans: Sequence[Span]) -> None:
        self._features.prepare(spans)

    def of_spans(self, spans: Sequence[Span]) -> list[torch.Tensor | ExampleError]:
        return self._features.of_spans(spans, self._encode)

    def of_texts(self, texts: Sequence[str]) -> list[torch.Tensor]:
        return self._features.of_texts(
            texts, lambda unknown: [self._clap.of_pieces(text) for text in unknown]
        )

    def _encode(self, sounds: Sequence[Samples]) -> list[torch.Tensor]:
        return [self._clap.of_windows(samples) for samples in sounds]
