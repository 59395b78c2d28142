"""Tiny CLAP checkpoints with random weights: a folder as transformers has it, and a file as LAION publishes them."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import torch
from transformers import (
    ClapAudioConfig,
    ClapConfig,
    ClapFeatureExtractor,
    ClapModel,
    ClapProcessor,
    ClapTextConfig,
    RobertaTokenizer,
)


def tiny_clap(folder: Path, *, fused: bool = False) -> Path:
    """All the parts of laion/clap-htsat-unfused (or -fused), with few and narrow layers."""
    extractor = ClapFeatureExtractor(frequency_min=50, truncation="fusion" if fused else "rand_trunc")
    ClapProcessor(extractor, tiny_roberta_tokenizer()).save_pretrained(folder)
    tiny_clap_model(fused=fused).save_pretrained(folder)
    return folder


def tiny_clap_model(*, fused: bool = False, layer_norm_eps: float = 1e-12) -> ClapModel:
    torch.manual_seed(5)
    text = ClapTextConfig(
        vocab_size=len(tiny_roberta_tokenizer()), hidden_size=64, num_hidden_layers=2, num_attention_heads=1,
        intermediate_size=96, max_position_embeddings=514, layer_norm_eps=layer_norm_eps,
    )  # fmt: skip
    audio = ClapAudioConfig(
        hidden_size=64, patch_embeds_hidden_size=8, depths=[2, 2, 1, 1], num_attention_heads=[1, 2, 2, 4],
        enable_fusion=fused, fusion_type="aff_2d" if fused else None,
    )  # fmt: skip
    model = ClapModel(ClapConfig(text_config=text, audio_config=audio, projection_dim=24)).eval()
    _give_character(model)
    return model


def tiny_roberta_tokenizer() -> RobertaTokenizer:
    """One token per letter, between <s> and </s>."""
    letters = string.ascii_letters + string.digits + string.punctuation + "Ġ"
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    vocabulary |= {letter: number + 4 for number, letter in enumerate(letters)}
    return RobertaTokenizer(vocab=vocabulary | {"<mask>": len(vocabulary)}, merges=[])


def _give_character(model: Any) -> None:
    """As initialised, tiny models embed everything alike: biases are 0 and weights small."""
    for name, tensor in model.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(200.0, 500.0)
        elif name.endswith("running_mean"):
            tensor.uniform_(-60.0, -20.0)
        elif tensor.is_floating_point() and tensor.dim():
            tensor.add_(torch.randn_like(tensor) * 0.15)
