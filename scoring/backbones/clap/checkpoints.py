"""CLAP checkpoints: transformers' and LAION's own, from a name to the model, extractor and tokenizer.

Names and architecture are those of https://github.com/LAION-AI/CLAP (`clap_module/{model,htsat}.py`, README): the
checkpoints of Table 28 of the AQAScore paper have no feature fusion; the two trained on 630k have the audio encoder
HTSAT-tiny (width 96, depths 2-2-6-2), the three with music HTSAT-base (width 128, depths 2-2-12-2); the text encoder is
roberta-base. Everything but head counts of the text encoder is read from the shapes themselves.
"""

from __future__ import annotations

import pickle
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import ClapConfig, ClapModel

from scoring.backbones.clap.embeddings import ClapParts
from scoring.backbones.loading import checkpoints
from scoring.backbones.loading.pretrained import first_line, load_model
from scoring.metrics.contract import SetupError

# Table 28, by the names its results go by. The paper calls the last file clap-630k-best.pt.
LAION_CHECKPOINTS = {
    "music-as": ("music_audioset_epoch_15_esc_90.14.pt",),
    "630k-as": ("630k-audioset-best.pt",),
    "music-speech-as": ("music_speech_audioset_epoch_15_esc_89.98.pt",),
    "music-speech": ("music_speech_epoch_15_esc_89.25.pt",),
    "630k-best": ("630k-best.pt", "clap-630k-best.pt"),
}

_PUBLISHED_IN = "lukewys/laion_clap"

# In this order: a later rule sees what an earlier one made.
_LAION_NAMES = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"^text_branch\.", "text_model."),
        (r"^audio_branch\.bn0\.", "audio_model.audio_encoder.batch_norm."),
        (r"^audio_branch\.", "audio_model.audio_encoder."),
        (r"\.attn\.proj\.", ".attention.output.dense."),
        (r"\.attn\.", ".attention.self."),
        (r"\.mlp\.fc1\.", ".intermediate.dense."),
        (r"\.mlp\.fc2\.", ".output.dense."),
        (r"\.norm1\.", ".layernorm_before."),
        (r"\.norm2\.", ".layernorm_after."),
        (r"^(text|audio)_projection\.0\.", r"\1_projection.linear1."),
        (r"^(text|audio)_projection\.2\.", r"\1_projection.linear2."),
    )
)

# No part of an embedding: the classifier of AudioSet's events, the heads used in training only, masks and positions
# that follow from the architecture, and the spectrogram, which we compute ourselves.
_UNUSED = re.compile(
    r"audio_branch\.(tscam_conv|head|spectrogram_extractor|logmel_extractor)\.|(audio|text)_transform\."
    r"|.*\.attn_mask$|.*relative_position_index$|.*\.position_ids$|.*\.token_type_ids$"
)

_MEL_FILTERS = "audio_branch.logmel_extractor.melW"

# The training script keeps its optimiser's state in the file, with learning rates as numpy numbers: this function makes
# those and nothing else. The module it is in has changed its name since.
_numpy_number = np.float64(0).__reduce__()[0]
_NUMPY: list[Any] = [np.dtype, np.dtypes.Float64DType, np.dtypes.Float32DType, np.dtypes.Int64DType] + [
    (_numpy_number, f"numpy.{module}.multiarray.scalar") for module in ("core", "_core")
]


@dataclass(frozen=True)
class LaionClap:
    """The model, and the mel filters it was trained with (frequencies, mels) if the file holds them."""

    model: ClapModel
    mel_filters: np.ndarray[Any, np.dtype[np.float64]] | None


def laion_file(name: str, folder: Path | None) -> Path | None:
    """The file that a name of Table 28 or a path to a .pt file means, None if it means neither. Raises SetupError."""
    if files := LAION_CHECKPOINTS.get(name):
        there = [folder / file for file in files if folder is not None and (folder / file).is_file()]
        if there:
            return there[0]
        raise SetupError(
            f"The checkpoint {name} is not on this machine. Put {files[0]} into {folder or 'a folder'}, or set "
            "CONCORD_CHECKPOINTS to the folder that has it; where there is a network: hf download "
            f"{_PUBLISHED_IN} {files[0]} --local-dir FOLDER"
        )
    if not name.endswith((".pt", ".pth")):
        return None
    path = Path(name).expanduser()
    if not path.is_file():
        raise SetupError(f"There is no file {path}. Give the path of a checkpoint of LAION's CLAP.")
    return path


def load_laion(path: Path) -> LaionClap:
    """Only weights are read from the file, never code. Raises SetupError."""
    state = _read_state(path)
    if "audio_branch.patch_embed.proj.weight" not in state or "text_branch.pooler.dense.weight" not in state:
        raise SetupError(
            f"{path} is no CLAP checkpoint of LAION's with the audio encoder HTSAT and the text encoder roberta. "
            f"Use one of {_PUBLISHED_IN}: {', '.join(names[0] for names in LAION_CHECKPOINTS.values())}."
        )
    if any(".mel_conv2d." in name for name in state):
        raise SetupError(
            f"{path} was trained with feature fusion, which the checkpoints of Table 28 were not. "
            "Use the same model in transformers' form: laion/clap-htsat-fused."
        )
    model: Any = ClapModel(_infer_config(state))
    _load_weights(model, rename_laion_weights(state), path)
    filters = state.get(_MEL_FILTERS)
    return LaionClap(model.eval(), None if filters is None else filters.double().numpy())


def rename_laion_weights(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights by the names ClapModel has for them; query, key and value, stacked by LAION, apart."""
    renamed: dict[str, torch.Tensor] = {}
    for name, tensor in state.items():
        if _UNUSED.match(name):
            continue
        for pattern, new in _LAION_NAMES:
            name = pattern.sub(new, name)
        if ".qkv." in name:
            for part, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                renamed[name.replace(".qkv.", f".{part}.")] = third
        else:
            renamed[name] = tensor
    return renamed


def _read_state(path: Path) -> dict[str, torch.Tensor]:
    try:
        with torch.serialization.safe_globals(_NUMPY):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise SetupError(
            f"{path} holds more than weights, or is damaged. If you trust where it came from, keep its weights alone: "
            "python -c \"import sys, torch; f = sys.argv[1]; torch.save(torch.load(f, map_location='cpu', "
            f"weights_only=False)['state_dict'], f)\" {shlex.quote(str(path))}"
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError) as error:
        raise SetupError(f"{path} cannot be read: {error}. Download it again.") from error
    state = content.get("state_dict", content) if isinstance(content, dict) else {}
    return {
        str(name).removeprefix("module."): tensor
        for name, tensor in state.items()
        if isinstance(tensor, torch.Tensor)
    }


def _infer_config(state: Mapping[str, torch.Tensor]) -> ClapConfig:
    words = state["text_branch.embeddings.word_embeddings.weight"]
    text_layers = _count(state, r"text_branch\.encoder\.layer\.(\d+)\.")
    stages = _count(state, r"audio_branch\.layers\.(\d+)\.")
    tables = [
        state[f"audio_branch.layers.{stage}.blocks.0.attn.relative_position_bias_table"]
        for stage in range(stages)
    ]
    patches = state["audio_branch.patch_embed.proj.weight"]
    projection = state["audio_projection.0.weight"]
    text = {
        "vocab_size": len(words),
        "hidden_size": words.shape[1],
        "num_hidden_layers": text_layers,
        # Every size of RoBERTa has heads of 64.
        "num_attention_heads": words.shape[1] // 64,
        "intermediate_size": len(state["text_branch.encoder.layer.0.intermediate.dense.weight"]),
        "max_position_embeddings": len(state["text_branch.embeddings.position_embeddings.weight"]),
        # As roberta-base was trained; ClapTextConfig's own default is 1e-12.
        "layer_norm_eps": 1e-5,
    }
    audio = {
        "num_mel_bins": len(state["audio_branch.bn0.weight"]),
        "patch_size": patches.shape[2],
        "patch_embeds_hidden_size": len(patches),
        "hidden_size": projection.shape[1],
        "depths": [
            _count(state, rf"audio_branch\.layers\.{stage}\.blocks\.(\d+)\.") for stage in range(stages)
        ],
        "num_attention_heads": [table.shape[1] for table in tables],
        # A table has (2 · window - 1)² places.
        "window_size": (round(len(tables[0]) ** 0.5) + 1) // 2,
    }
    return ClapConfig(text_config=text, audio_config=audio, projection_dim=len(projection))


def _count(state: Mapping[str, torch.Tensor], pattern: str) -> int:
    return len({match[1] for name in state if (match := re.match(pattern, name))})


def _load_weights(model: ClapModel, weights: dict[str, torch.Tensor], path: Path) -> None:
    expected = {name for name in model.state_dict() if not _UNUSED.match(name)}
    if wrong := sorted(expected ^ set(weights)):
        how = "lacks" if wrong[0] in expected else "holds, and CLAP has no place for,"
        raise SetupError(f"{path} {how} {wrong[0]} ({len(wrong)} weights differ). Download it again.")
    try:
        model.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise SetupError(f"{path} holds weights of shapes that do not fit together: {error}") from error


# ── loading: from the name of a checkpoint to its parts in memory ──

# LAION's files have no tokenizer in them: they were trained with this one.
_TOKENIZER = "FacebookAI/roberta-base"
_TOKENIZER_REMEDY = (
    f"LAION's checkpoints are read with that of {_TOKENIZER}: where there is a network, run hf download {_TOKENIZER} "
    "tokenizer.json tokenizer_config.json vocab.json merges.txt; or put these into a folder roberta-base beside the "
    "checkpoint."
)


def open_clap(name: str, *, folder: Path | None, device: torch.device) -> ClapParts:
    """`name` is one of Table 28, a path to such a .pt file, a hub name, or a folder. `folder` is where .pt files are
    looked for. Raises SetupError."""
    file = laion_file(name, folder)
    parts = _from_hub(name, device) if file is None else _from_laion(file)
    n_known, n_tokens = len(parts.tokenizer), parts.model.config.text_config.vocab_size
    # Where its files are missing, transformers makes an empty tokenizer and says nothing.
    if not n_tokens / 2 < n_known <= n_tokens:
        raise SetupError(
            f"The tokenizer for {name} knows {n_known} tokens, the model {n_tokens}. {_TOKENIZER_REMEDY}"
        )
    return parts


def _from_hub(name: str, device: torch.device) -> ClapParts:
    checkpoint = checkpoints.find_checkpoint(name)
    if checkpoint.model_type != "clap":
        raise SetupError(
            f"{name} is a model of the kind {checkpoint.model_type or 'unknown'!r}; CLAPScore needs CLAP, such as "
            f"laion/clap-htsat-unfused, or one of {', '.join(LAION_CHECKPOINTS)}."
        )
    if checkpoint.adapter is not None:
        raise SetupError(
            f"{name} is an adapter, which cannot be applied to CLAP here. Merge it into its base first, and name the "
            "folder of the whole."
        )
    model = load_model("ClapModel", checkpoint, dtype=torch.float32, device=device, attention="eager")
    try:
        processor = transformers.ClapProcessor.from_pretrained(checkpoint.folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{name} lacks the files of its feature extractor or tokenizer ({first_line(error)}). Download it again."
        ) from error
    return ClapParts(model, processor.feature_extractor, processor.tokenizer, checkpoint.revision)


def _from_laion(file: Path) -> ClapParts:
    loaded = load_laion(file)
    # As in the configuration files of HTSAT-tiny and HTSAT-base; 48 kHz is what the published code resamples to.
    extractor = transformers.ClapFeatureExtractor(
        truncation="rand_trunc", frequency_min=50, frequency_max=14_000
    )
    if loaded.mel_filters is not None:
        extractor.mel_filters_slaney = loaded.mel_filters
    weights = f"sha256:{checkpoints.file_digest(file)}"
    return ClapParts(
        loaded.model.requires_grad_(False), extractor, _tokenizer(file.parent), weights, pcm16=True
    )


def _tokenizer(beside: Path) -> Any:
    local = beside / "roberta-base"
    try:
        return transformers.RobertaTokenizer.from_pretrained(local if local.is_dir() else _TOKENIZER)
    except (OSError, ValueError) as error:
        raise SetupError(f"There is no tokenizer: {first_line(error)} {_TOKENIZER_REMEDY}") from error
