"""Encoders of music and of what was asked for, as CMI-RM is built on: what each gives, and how one is opened by name.

Looking at this module loads no model code besides torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import torch

from scoring.backbones.feature_cache import FeatureCache
from scoring.backbones.loading import device_of
from scoring.metrics.contract import ExampleError, Sound
from scoring.metrics.registry import OptionError, Workplace

BUILT_IN = "built-in"

# Of a longer sound only the beginning is ever heard, as in the paper's training and in its inference (CMI-RewardBench,
# Appendix F.2).
HEARD_SECONDS = 120.0

_NAMED = {
    "clap": "scoring.backbones.clap_music:open_clap_music",
    "muq-mulan": "scoring.backbones.muq_mulan:open_muq_mulan",
}


@dataclass(frozen=True)
class Span:
    """A part of a sound: from `start` on, in seconds, for `seconds` or to the sound's end where that is sooner.
    It lies within the first HEARD_SECONDS."""

    sound: Sound
    start: float = 0.0
    seconds: float = 120.0


class MusicEncoder(Protocol):
    """A frozen encoder of sounds and texts into one space.

    `width` is the last dimension of all it gives. `identity` holds, as JSON, all that can change its output: code
    version, weights, preprocessing. Every tensor is float32 on the CPU, without gradients, of at least one row, and
    does not depend on what else is in the call. Results are kept by content and identity (FeatureCache), so that each
    is computed once.
    """

    @property
    def width(self) -> int: ...

    @property
    def identity(self) -> Mapping[str, Any]: ...

    def prepare(self, spans: Sequence[Span]) -> None:
        """Begin to decode these in threads, and return at once; raises nothing. It may do nothing."""
        ...

    def of_spans(self, spans: Sequence[Span]) -> list[torch.Tensor | ExampleError]:
        """In the order asked: (frames, width) in the order of time, or why there are none: the file is missing, cannot
        be decoded, or ends before the span begins."""
        ...

    def of_texts(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """In the order asked: (tokens, width). Texts of any length are read; the empty text has a token as well."""
        ...


def open_encoder(name: str, workplace: Workplace) -> MusicEncoder:
    """`name` is built-in, or clap: or muq-mulan: with a hub name or a folder. Raises OptionError, SetupError."""
    kind, _, checkpoint = name.partition(":")
    if name == BUILT_IN:
        # Imported here: whoever has another encoder need not load it.
        from scoring.backbones.mel_music import MelMusic

        encoder: MusicEncoder = MelMusic(cache_of(workplace))
        return encoder
    if kind not in _NAMED or not checkpoint.strip():
        raise OptionError(
            "encoder",
            f"there is no encoder {name!r}: use {BUILT_IN}, clap:laion/clap-htsat-unfused or "
            "muq-mulan:OpenMuQ/MuQ-MuLan-large, the latter two with any hub name or folder of their kind",
        )
    module, _, function = _NAMED[kind].partition(":")
    opened: MusicEncoder = getattr(import_module(module), function)(
        checkpoint.strip(),
        folder=workplace.checkpoints,
        device=device_of(workplace.device),
        cache=cache_of(workplace),
    )
    return opened


def cache_of(workplace: Workplace) -> FeatureCache:
    return FeatureCache(workplace.cache, limit_bytes=workplace.cache_bytes)
