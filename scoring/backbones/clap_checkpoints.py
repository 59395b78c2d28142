"""From the name of a CLAP checkpoint to its parts in memory."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
import transformers

from scoring.backbones import checkpoints, laion_clap
from scoring.backbones.clap import Parts
from scoring.backbones.loading import load_model
from scoring.metrics.contract import SetupError

# LAION's files have no tokenizer in them: they were trained with this one.
_TOKENIZER = "FacebookAI/roberta-base"
_TOKENIZER_REMEDY = (
    f"LAION's checkpoints are read with that of {_TOKENIZER}: where there is a network, run hf download {_TOKENIZER} "
    "tokenizer.json tokenizer_config.json vocab.json merges.txt; or put these into a folder roberta-base beside the "
    "checkpoint."
)


def open_parts(name: str, *, folder: Path | None, device: torch.device) -> Parts:
    """`name` is one of Table 28, a path to such a .pt file, a hub name, or a folder. `folder` is where .pt files are
    looked for. Raises SetupError."""
    file = laion_clap.file_of(name, folder)
    parts = _from_hub(name, device) if file is None else _from_laion(file)
    known, wanted = len(parts.tokenizer), parts.model.config.text_config.vocab_size
    # Where its files are missing, transformers makes an empty tokenizer and says nothing.
    if not wanted / 2 < known <= wanted:
        raise SetupError(
            f"The tokenizer for {name} knows {known} tokens, the model {wanted}. {_TOKENIZER_REMEDY}"
        )
    return parts


def _from_hub(name: str, device: torch.device) -> Parts:
    found = checkpoints.find(name)
    if found.model_type != "clap":
        raise SetupError(
            f"{name} is a model of the kind {found.model_type or 'unknown'!r}; CLAPScore needs CLAP, such as "
            f"laion/clap-htsat-unfused, or one of {', '.join(laion_clap.TABLE_28)}."
        )
    if found.adapter is not None:
        raise SetupError(
            f"{name} is an adapter, which cannot be applied to CLAP here. Merge it into its base first, and name the "
            "folder of the whole."
        )
    model = load_model("ClapModel", found, dtype=torch.float32, device=device, attention="eager")
    try:
        processor = transformers.ClapProcessor.from_pretrained(found.folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{name} lacks the files of its feature extractor or tokenizer ({_first_line(error)}). Download it again."
        ) from error
    return Parts(model, processor.feature_extractor, processor.tokenizer, found.revision)


def _from_laion(file: Path) -> Parts:
    loaded = laion_clap.load(file)
    # As in the configuration files of HTSAT-tiny and HTSAT-base; 48 kHz is what the published code resamples to.
    extractor = transformers.ClapFeatureExtractor(
        truncation="rand_trunc", frequency_min=50, frequency_max=14_000
    )
    if loaded.mel_filters is not None:
        extractor.mel_filters_slaney = loaded.mel_filters
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    tokenizer = _tokenizer(file.parent)
    return Parts(loaded.model.requires_grad_(False), extractor, tokenizer, f"sha256:{digest}", pcm16=True)


def _tokenizer(beside: Path) -> Any:
    local = beside / "roberta-base"
    try:
        return transformers.RobertaTokenizer.from_pretrained(local if local.is_dir() else _TOKENIZER)
    except (OSError, ValueError) as error:
        raise SetupError(f"There is no tokenizer: {_first_line(error)} {_TOKENIZER_REMEDY}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
