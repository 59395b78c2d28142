"""CLAP as an encoder of music: one token for each window of ten seconds, and for each piece of a text.

Its sequences are not what was trained; its embeddings are, where sounds and texts lie in one space. So a token is an
embedding of length 1: of a window, of which as many as cover the span are spread evenly from its start to its end, or
of 75 of a text's own tokens.
"""

from __future__ import annotations

from pathlib import Path

import torch

from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import MICROSOFT, Clap, ClapParts
from scoring.backbones.encoders.music_features import CachedMusicEncoder, Samples
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.contract import SetupError

# A change of this code that changes tokens takes a new number.
_VERSION = 1


def open_clap_music(
    checkpoint: str, *, folder: Path | None, device: torch.device, cache: FeatureCache
) -> ClapMusic:
    """`checkpoint` is named as for CLAPScore. Raises SetupError."""
    parts = open_clap(checkpoint, folder=folder, device=device)
    if parts.family == MICROSOFT:
        raise SetupError(
            f"{checkpoint} is {MICROSOFT}, which reads a text by its end alone and hears seven seconds: its embeddings "
            "are no tokens for CMI-RM. Use a CLAP of LAION's, such as clap:music-as or clap:laion/clap-htsat-unfused."
        )
    return ClapMusic(parts, device=device, cache=cache)


class ClapMusic(CachedMusicEncoder):
    def __init__(self, parts: ClapParts, *, device: torch.device, cache: FeatureCache) -> None:
        self._clap = Clap(parts, long_sounds="windows", device=device, cache=cache)
        super().__init__(
            width=int(parts.model.config.projection_dim),
            identity={"encoder": f"clap-music/{_VERSION}", **self._clap.identity},
            rate=int(parts.extractor.sampling_rate),
            cache=cache,
        )

    def _encode_sound(self, samples: Samples) -> torch.Tensor:
        return self._clap.of_windows(samples)

    def _encode_text(self, text: str) -> torch.Tensor:
        return self._clap.of_pieces(text)
