"""From a checkpoint's name to the model of one of the families that listen, on this machine."""

from __future__ import annotations

from transformers.utils.logging import disable_progress_bar

from scoring.backbones import audio_flamingo, qwen2_5_omni, qwen2_audio, qwen3_omni
from scoring.backbones.audio_language_model import AudioLanguageModel
from scoring.backbones.checkpoints import find
from scoring.backbones.feature_cache import FeatureCache
from scoring.backbones.listening import Family
from scoring.backbones.loading import device_of, dtype_of
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import Workplace

FAMILIES: tuple[Family, ...] = (
    qwen2_5_omni.FAMILY,
    qwen2_audio.FAMILY,
    audio_flamingo.FAMILY,
    qwen3_omni.FAMILY,
)


def open_checkpoint(name: str, *, dtype: str, workplace: Workplace) -> AudioLanguageModel:
    """Raises SetupError with what is missing and how to mend it."""
    disable_progress_bar()  # type: ignore[no-untyped-call]
    checkpoint = find(name)
    family = _family(checkpoint.model_type, checkpoint.name)
    device = device_of(workplace.device)
    return AudioLanguageModel(
        checkpoint,
        family,
        dtype=dtype_of(dtype, device),
        device=device,
        cache=FeatureCache(workplace.cache, limit_bytes=workplace.cache_bytes),
    )


def _family(model_type: str, name: str) -> Family:
    for family in FAMILIES:
        if model_type in family.model_types:
            return family
    raise SetupError(
        f"{name} is a model of the kind {model_type or 'unknown'!r}, which does not listen and answer. Use one of: "
        f"{', '.join(family.title for family in FAMILIES)}."
    )
