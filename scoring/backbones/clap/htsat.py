"""Files of CLAP weights as published, and the audio encoder HTSAT in them, which LAION's and Microsoft's share.

Names and architecture are those of HTS-AT's own code (`htsat.py` of https://github.com/LAION-AI/CLAP and of
https://github.com/microsoft/CLAP). Everything is read from the shapes themselves.
"""

from __future__ import annotations

import pickle
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from scoring.metrics.contract import SetupError

# In this order: a later rule sees what an earlier one made.
_NAMES = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r"^bn0\.", "batch_norm."),
        (r"\.attn\.proj\.", ".attention.output.dense."),
        (r"\.attn\.", ".attention.self."),
        (r"\.mlp\.fc1\.", ".intermediate.dense."),
        (r"\.mlp\.fc2\.", ".output.dense."),
        (r"\.norm1\.", ".layernorm_before."),
        (r"\.norm2\.", ".layernorm_after."),
    )
)

# No part of an embedding: the classifier of AudioSet's events, masks and positions that follow from the architecture,
# and the spectrogram, which we compute ourselves.
_UNUSED = re.compile(
    r"(tscam_conv|head|spectrogram_extractor|logmel_extractor)\.|.*\.attn_mask$|.*relative_position_index$"
)
_MEL_FILTERS = "logmel_extractor.melW"

# LAION's training script keeps its optimiser's state in the file, with learning rates as numpy numbers: this function
# makes those and nothing else. The module it is in has changed its name since.
_numpy_number = np.float64(0).__reduce__()[0]
_NUMPY: list[Any] = [np.dtype, np.dtypes.Float64DType, np.dtypes.Float32DType, np.dtypes.Int64DType] + [
    (_numpy_number, f"numpy.{module}.multiarray.scalar") for module in ("core", "_core")
]

State = dict[str, torch.Tensor]


def read_state(path: Path) -> State:
    """The weights of a file, bare or below "state_dict" (LAION) or "model" (Microsoft). Only weights are read, never
    code. Raises SetupError."""
    try:
        with torch.serialization.safe_globals(_NUMPY):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise SetupError(
            f"{path} holds more than weights, or is damaged. If you trust where it came from, keep its weights alone: "
            "python -c \"import sys, torch; f = sys.argv[1]; c = torch.load(f, map_location='cpu', "
            "weights_only=False); torch.save(c.get('state_dict', c.get('model', c)), f)\" "
            f"{shlex.quote(str(path))}"
        ) from error
    except (RuntimeError, EOFError, OSError, ValueError) as error:
        raise SetupError(f"{path} cannot be read: {error}. Download it again.") from error
    state = content.get("state_dict", content.get("model", content)) if isinstance(content, dict) else {}
    return {
        str(name).removeprefix("module."): tensor
        for name, tensor in (state.items() if isinstance(state, Mapping) else ())
        if isinstance(tensor, torch.Tensor)
    }


def below(state: Mapping[str, torch.Tensor], prefix: str) -> State:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def rename_htsat(state: Mapping[str, torch.Tensor]) -> State:
    """The encoder's weights by the names that transformers' ClapAudioEncoder has for them; query, key and value, which
    are stacked in the file, apart."""
    renamed: State = {}
    for name, tensor in state.items():
        if _UNUSED.match(name):
            continue
        for pattern, new in _NAMES:
            name = pattern.sub(new, name)
        if ".qkv." in name:
            for part, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                renamed[name.replace(".qkv.", f".{part}.")] = third
        else:
            renamed[name] = tensor
    return renamed


def htsat_config(state: Mapping[str, torch.Tensor], *, width: int) -> dict[str, Any]:
    """What ClapAudioConfig needs to know. `width`: of the embedding before its projection."""
    stages = count_parts(state, r"layers\.(\d+)\.")
    tables = [state[f"layers.{stage}.blocks.0.attn.relative_position_bias_table"] for stage in range(stages)]
    patches = state["patch_embed.proj.weight"]
    return {
        "num_mel_bins": len(state["bn0.weight"]),
        "patch_size": patches.shape[2],
        "patch_embeds_hidden_size": len(patches),
        "hidden_size": width,
        "depths": [count_parts(state, rf"layers\.{stage}\.blocks\.(\d+)\.") for stage in range(stages)],
        "num_attention_heads": [table.shape[1] for table in tables],
        # A table has (2 · window - 1)² places.
        "window_size": (round(len(tables[0]) ** 0.5) + 1) // 2,
    }


def mel_filters(state: Mapping[str, torch.Tensor]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The filters that it was trained with, (frequencies, mels), if the file holds them."""
    filters = state.get(_MEL_FILTERS)
    return None if filters is None else filters.double().numpy()


def count_parts(state: Mapping[str, torch.Tensor], pattern: str) -> int:
    return len({match[1] for name in state if (match := re.match(pattern, name))})


def load_weights(model: nn.Module, weights: State, path: Path, *, computed: re.Pattern[str]) -> None:
    """`computed`: what a model has of itself. Raises SetupError."""
    expected = {name for name in model.state_dict() if not computed.match(name)}
    if wrong := sorted(expected ^ set(weights)):
        how = "lacks" if wrong[0] in expected else "holds, and CLAP has no place for,"
        raise SetupError(f"{path} {how} {wrong[0]} ({len(wrong)} weights differ). Download it again.")
    try:
        model.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise SetupError(f"{path} holds weights of shapes that do not fit together: {error}") from error
