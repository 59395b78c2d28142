"""Low-rank adapters, as published beside the model they change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from peft import PeftConfig, PeftModel, load_peft_weights, set_peft_model_state_dict

from scoring.backbones.checkpoints import Checkpoint
from scoring.metrics.contract import SetupError

# Weights that were trained beside the adapter, whole: those of the projector, for one.
_BESIDE = "non_lora_trainables.bin"

# Adapters keep the names that a model's parts had when they were made. transformers translates those of whole
# checkpoints as it reads them; an adapter's would be skipped in silence.
_RENAMED = [
    (re.compile(r"^language_model\.lm_head"), "lm_head"),
    (re.compile(r"^language_model\.model\."), "model.language_model."),
    (re.compile(r"^(language_model|audio_tower|multi_modal_projector)\."), r"model.\1."),
]
_WRAPPED = "base_model.model."


def apply_adapter(model: Any, checkpoint: Checkpoint) -> Any:
    """The model with the checkpoint's adapter merged into its weights, or as it is where there is none. Raises
    SetupError if a weight of the adapter has no place."""
    folder = checkpoint.adapter
    if folder is None:
        return model
    try:
        if (folder / _BESIDE).is_file():
            _load_beside(model, folder / _BESIDE)
        return _merged(model, folder).eval().requires_grad_(False)
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(f"The adapter in {folder} cannot be applied: {error}") from error


def _load_beside(model: Any, file: Path) -> None:
    weights = {_renamed(name): tensor for name, tensor in torch.load(file, weights_only=True).items()}
    report = model.load_state_dict(weights, strict=False)
    _refuse(report.unexpected_keys, file)


def _merged(model: Any, folder: Path) -> Any:
    config = PeftConfig.from_pretrained(str(folder))
    targets = getattr(config, "target_modules", None)
    if isinstance(targets, set | list):
        config.target_modules = {_renamed(target) for target in targets}
    adapted = PeftModel(model, config)
    weights = {
        _renamed(name): tensor for name, tensor in load_peft_weights(str(folder), device="cpu").items()
    }
    report: Any = set_peft_model_state_dict(adapted, weights)
    _refuse(report.unexpected_keys, folder)
    _refuse([name for name in report.missing_keys if "lora_" in name], folder)
    return adapted.merge_and_unload()


def _renamed(name: str) -> str:
    wrapped = name.startswith(_WRAPPED)
    bare = name.removeprefix(_WRAPPED)
    for old, new in _RENAMED:
        if old.match(bare):
            bare = old.sub(new, bare)
            break
    return _WRAPPED + bare if wrapped else bare


def _refuse(names: Iterable[str], place: Path) -> None:
    if odd := sorted(names):
        raise SetupError(
            f"{place} does not fit its model: {odd[0]} and {len(odd) - 1} more have no counterpart."
        )
