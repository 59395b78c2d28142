"""The published CMI-RM in small: a file with its names and shapes, and what its scores are, derived by plain numpy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from safetensors.torch import save_file
from scipy.special import erf, softmax

Array = NDArray[np.float64]
WIDTH, HEADS, HEAD_WIDTH, HIDDEN, SCORE_WIDTH = 12, 2, 4, 16, 10


def released_weights(
    *, prompt_depth: int = 3, joint_depth: int = 2, cross: bool = False, width: int = WIDTH
) -> dict[str, torch.Tensor]:
    """Every name that the published module has, without the encoders' own."""
    made = torch.Generator().manual_seed(7)
    inner = HEADS * HEAD_WIDTH
    found: dict[str, torch.Tensor] = {}

    def add(name: str, *shape: int) -> None:
        # Gains and scales lie around 1, where they are before training.
        around = 1.0 if name.endswith(("gamma", "scale")) else 0.0
        found[name] = around + 0.5 * torch.randn(*shape, generator=made)

    def attention(at: str, *norms: str, scales: bool) -> None:
        for norm in norms:
            add(f"{at}.{norm}.learned_gamma", width)
        for scale in ("q_scale", "k_scale") if scales else ():
            add(f"{at}.{scale}", HEAD_WIDTH)
        add(f"{at}.to_q.weight", inner, width)
        add(f"{at}.to_kv.weight", 2 * inner, width)
        add(f"{at}.to_out.0.weight", width, inner)

    def feed_forward(at: str) -> None:
        add(f"{at}.0.learned_gamma", width)
        add(f"{at}.1.weight", 2 * HIDDEN, width)
        add(f"{at}.4.weight", width, HIDDEN)

    towers = [("prompt_transformer", prompt_depth), *([] if cross else [("joint_transformer", joint_depth)])]
    for tower, depth in towers:
        for number in range(depth):
            attention(f"{tower}.layers.{number}.0", "norm", scales=True)
            feed_forward(f"{tower}.layers.{number}.1")
    for number in range(joint_depth if cross else 0):
        attention(f"joint_transformer.{number}.self_attn", "norm", scales=True)
        attention(f"joint_transformer.{number}.cross_attn", "norm_q", "norm_kv", scales=False)
        feed_forward(f"joint_transformer.{number}.ffn")
    for head, outputs in (
        ("score_projector", 2),
        ("single_score_projector", 1),
        ("alignment_head", 1),
        ("quality_head", 1),
    ):
        add(f"{head}.0.weight", width)
        add(f"{head}.0.bias", width)
        add(f"{head}.1.weight", SCORE_WIDTH, width)
        add(f"{head}.1.bias", SCORE_WIDTH)
        add(f"{head}.3.weight", outputs, SCORE_WIDTH)
        add(f"{head}.3.bias", outputs)
    for modality in ("text", "lyrics", "audio"):
        add(f"null_{modality}_embedding", 1, 10, width)
    return found


def frozen_weights() -> dict[str, torch.Tensor]:
    return {
        "audio_module.model.model.cls_token": torch.zeros(3),
        "audio_module.transformer.layers.0.0.to_q.weight": torch.zeros(2, 2),
        "text_module.model.embeddings.word_embeddings.weight": torch.zeros(2, 2),
    }


def write_released(
    folder: Path, weights: Mapping[str, torch.Tensor], config: Mapping[str, Any] | None = None
) -> Path:
    folder.mkdir(exist_ok=True)
    save_file(dict(weights), folder / "model.safetensors")
    settings = {
        "model_name": "OpenMuQ/MuQ-MuLan-large",
        "prompt_tf_depth": 1,
        "joint_tf_depth": 4,
        **(config or {}),
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return folder


def scores(weights: Mapping[str, torch.Tensor], prompt: Array, sound: Array, *, cross: bool = False) -> Array:
    """Alignment and musicality of one sound, (frames, width), for one prompt, (tokens, width): no padding, no masks."""
    plain = {name: tensor.double().numpy() for name, tensor in weights.items()}
    for layer in _layers(plain, "prompt_transformer.layers.") if len(prompt) else ():
        prompt = _self_layer(plain, layer, prompt)
    if cross:
        for layer in _layers(plain, "joint_transformer."):
            sound = sound + _self_attention(plain, f"{layer}.self_attn", sound)
            sound = sound + _cross_attention(plain, f"{layer}.cross_attn", sound, prompt)
            sound = sound + _feed_forward(plain, f"{layer}.ffn", sound)
    else:
        both = np.concatenate([prompt, sound])
        for layer in _layers(plain, "joint_transformer.layers."):
            both = _self_layer(plain, layer, both)
        sound = both[len(prompt) :]
    x = _normed(sound.mean(axis=0)) * plain["score_projector.0.weight"] + plain["score_projector.0.bias"]
    x = np.maximum(plain["score_projector.1.weight"] @ x + plain["score_projector.1.bias"], 0)
    found: Array = plain["score_projector.3.weight"] @ x + plain["score_projector.3.bias"]
    return found


def _layers(plain: Mapping[str, Array], beginning: str) -> list[str]:
    numbers = {
        int(name.removeprefix(beginning).split(".")[0]) for name in plain if name.startswith(beginning)
    }
    return [f"{beginning}{number}" for number in sorted(numbers)]


def _self_layer(plain: Mapping[str, Array], at: str, x: Array) -> Array:
    x = x + _self_attention(plain, f"{at}.0", x)
    return x + _feed_forward(plain, f"{at}.1", x)


def _self_attention(plain: Mapping[str, Array], at: str, x: Array) -> Array:
    x = _normed(x) * plain[f"{at}.norm.learned_gamma"]
    q = _unit(_heads(x @ plain[f"{at}.to_q.weight"].T)) * plain[f"{at}.q_scale"]
    k, v = np.split(x @ plain[f"{at}.to_kv.weight"].T, 2, axis=1)
    k = _unit(_heads(k)) * plain[f"{at}.k_scale"]
    return _attended(q, k, _heads(v), scale=8.0) @ plain[f"{at}.to_out.0.weight"].T


def _cross_attention(plain: Mapping[str, Array], at: str, x: Array, prompt: Array) -> Array:
    if not len(prompt):
        return np.zeros_like(x)
    q = _heads(_normed(x) * plain[f"{at}.norm_q.learned_gamma"] @ plain[f"{at}.to_q.weight"].T)
    kv = _normed(prompt) * plain[f"{at}.norm_kv.learned_gamma"] @ plain[f"{at}.to_kv.weight"].T
    k, v = np.split(kv, 2, axis=1)
    return _attended(q, _heads(k), _heads(v), scale=HEAD_WIDTH**-0.5) @ plain[f"{at}.to_out.0.weight"].T


def _attended(q: Array, k: Array, v: Array, *, scale: float) -> Array:
    """(heads, tokens, head width) each, to (tokens, heads * head width)."""
    weights = softmax(scale * q @ k.transpose(0, 2, 1), axis=-1)
    joined: Array = (weights @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)
    return joined


def _feed_forward(plain: Mapping[str, Array], at: str, x: Array) -> Array:
    wide = _normed(x) * plain[f"{at}.0.learned_gamma"] @ plain[f"{at}.1.weight"].T
    value, gate = np.split(wide, 2, axis=-1)
    found: Array = (value * gate * 0.5 * (1 + erf(gate / np.sqrt(2)))) @ plain[f"{at}.4.weight"].T
    return found


def _normed(x: Array) -> Array:
    found: Array = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return found


def _unit(x: Array) -> Array:
    found: Array = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return found


def _heads(x: Array) -> Array:
    return x.reshape(len(x), HEADS, HEAD_WIDTH).transpose(1, 0, 2)
