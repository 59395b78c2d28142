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
        hidden_size=64, patch_embeds_hidden_size=8, depths=[2, 1, 1, 1], num_attention_heads=[1, 2, 2, 4],
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


def laion_state(model: ClapModel) -> dict[str, torch.Tensor]:
    """The weights under LAION's names, written from the modules of its own code, with what only its files have."""
    found: dict[str, torch.Tensor] = {
        "logit_scale_a": model.logit_scale_a,
        "logit_scale_t": model.logit_scale_t,
    }

    def add(name: str, module: torch.nn.Module) -> None:
        found.update({f"{name}.{key}": value for key, value in module.state_dict().items()})

    add("text_branch", model.text_model)
    for side in ("text", "audio"):
        add(f"{side}_projection.0", getattr(model, f"{side}_projection").linear1)
        add(f"{side}_projection.2", getattr(model, f"{side}_projection").linear2)
    encoder = model.audio_model.audio_encoder
    add("audio_branch.bn0", encoder.batch_norm)
    add("audio_branch.norm", encoder.norm)
    add("audio_branch.patch_embed", encoder.patch_embed)
    for number, stage in enumerate(encoder.layers):
        if stage.downsample is not None:
            add(f"audio_branch.layers.{number}.downsample", stage.downsample)
        for place, block in enumerate(stage.blocks):
            name = f"audio_branch.layers.{number}.blocks.{place}"
            attention = block.attention.self
            add(f"{name}.norm1", block.layernorm_before)
            add(f"{name}.norm2", block.layernorm_after)
            add(f"{name}.mlp.fc1", block.intermediate.dense)
            add(f"{name}.mlp.fc2", block.output.dense)
            add(f"{name}.attn.proj", block.attention.output.dense)
            for part in ("weight", "bias"):
                found[f"{name}.attn.qkv.{part}"] = torch.cat(
                    [getattr(side, part) for side in (attention.query, attention.key, attention.value)]
                )
            found[f"{name}.attn.relative_position_bias_table"] = attention.relative_position_bias_table
            found[f"{name}.attn.relative_position_index"] = attention.relative_position_index
            if place % 2:
                found[f"{name}.attn_mask"] = torch.zeros(4, 64, 64)
    found["audio_branch.spectrogram_extractor.stft.conv_real.weight"] = torch.zeros(513, 1, 1024)
    found["audio_branch.logmel_extractor.melW"] = torch.rand(513, 64)
    found["audio_branch.tscam_conv.weight"] = torch.zeros(527, 64, 2, 3)
    found["audio_branch.head.weight"] = torch.zeros(527, 527)
    for side in ("text", "audio"):
        found[f"{side}_transform.sequential.0.weight"] = torch.zeros(24, 24)
        found[f"{side}_transform.sequential.3.weight"] = torch.zeros(24, 24)
    return {name: tensor.detach().clone() for name, tensor in found.items()}


def _give_character(model: Any) -> None:
    """As initialised, tiny models embed everything alike: biases are 0 and weights small."""
    for name, tensor in model.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(200.0, 500.0)
        elif name.endswith("running_mean"):
            tensor.uniform_(-60.0, -20.0)
        elif tensor.is_floating_point() and tensor.dim():
            tensor.add_(torch.randn_like(tensor) * 0.15)
