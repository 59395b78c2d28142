"""Sounds as a model's embeddings: from what was kept, or decoded, transformed and run through its audio tower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from scoring.backbones.feature_cache import FeatureCache
from scoring.backbones.listening import Features, Listener
from scoring.backbones.packing import groups
from scoring.backbones.preparation import Preparation
from scoring.backbones.sounds import decode
from scoring.metrics.contract import ExampleError, Sound

# Mel frames through a tower in one pass, about five minutes of sound.
_FRAMES_PER_PASS = 32_768


@dataclass(frozen=True)
class _Prepared:
    """One of the two is there."""

    kept: torch.Tensor | None = None
    features: Features | None = None


class Embeddings:
    """`space` names what the embeddings depend on, besides the sound."""

    def __init__(self, listener: Listener, *, rate: int, cache: FeatureCache, space: str) -> None:
        self._listener = listener
        self._rate = rate
        self._cache = cache
        self._space = space
        self._preparation = Preparation(self._prepare)

    def begin(self, sounds: Sequence[Sound]) -> None:
        self._preparation.begin(sounds)

    def of(self, sounds: Sequence[Sound]) -> dict[str, torch.Tensor | ExampleError]:
        """By the sound's content: embeddings (tokens, width), or why there are none."""
        found: dict[str, torch.Tensor | ExampleError] = {}
        waiting: dict[str, Features] = {}
        for key, future in self._preparation.take(sounds).items():
            try:
                prepared = future.result()
            except ExampleError as error:
                found[key] = error
                continue
            if prepared.kept is not None:
                found[key] = prepared.kept
            elif prepared.features is not None:
                waiting[key] = prepared.features
        keys = list(waiting)
        n_frames = [waiting[key]["mel"].shape[-1] * waiting[key]["mel"][..., 0, 0].numel() for key in keys]
        for members in groups(n_frames, n_tokens=_FRAMES_PER_PASS):
            group = [keys[i] for i in members]
            for key, embedded in zip(
                group, self._listener.embed([waiting[key] for key in group]), strict=True
            ):
                found[key] = embedded
                self._cache.put(self._space, key, {"embeddings": embedded})
        return found

    def _prepare(self, sound: Sound) -> _Prepared:
        """In a thread."""
        kept = self._cache.get(self._space, sound.sha256)
        if kept is not None:
            return _Prepared(kept=kept["embeddings"])
        samples = decode(sound, rate=self._rate, seconds=self._listener.seconds)
        return _Prepared(features=self._listener.features(samples))
