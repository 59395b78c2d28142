"""A tiny MS-CLAP 2023 in the layout of its published file, by the names and shapes of its own code's modules
(`msclap/models/{clap,htsat}.py`), its numbers by a formula so that any program can make the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.audio_utils import mel_filter_bank

WIDTH, DEPTHS, HEADS = 8, (2, 1, 1, 1), (1, 2, 2, 4)
TEXT_WIDTH, TEXT_LAYERS, POSITIONS, VOCABULARY = 64, 2, 80, 257
DIMENSIONS = 8

_HTSAT, _GPT = "audio_encoder.base.htsat.", "caption_encoder.base."


def _shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, shape in _htsat():
        yield _HTSAT + name, shape
    for name, shape in _gpt():
        yield _GPT + name, shape
    for side, width in (("audio_encoder", WIDTH * 8), ("caption_encoder", TEXT_WIDTH)):
        yield f"{side}.projection.linear1.weight", (DIMENSIONS, width)
        yield f"{side}.projection.linear2.weight", (DIMENSIONS, DIMENSIONS)
        yield from _both(f"{side}.projection.layer_norm", (DIMENSIONS,))


def _both(name: str, weight: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", weight
    yield f"{name}.bias", weight[:1]


def _htsat() -> Iterator[tuple[str, tuple[int, ...]]]:
    for part in ("weight", "bias", "running_mean", "running_var"):
        yield f"bn0.{part}", (64,)
    yield from _both("patch_embed.proj", (WIDTH, 1, 4, 4))
    yield from _both("patch_embed.norm", (WIDTH,))
    for stage, (depth, heads) in enumerate(zip(DEPTHS, HEADS, strict=True)):
        width = WIDTH * 2**stage
        for number in range(depth):
            block = f"layers.{stage}.blocks.{number}"
            for norm in ("norm1", "norm2"):
                yield from _both(f"{block}.{norm}", (width,))
            yield f"{block}.attn.relative_position_bias_table", (225, heads)
            yield from _both(f"{block}.attn.qkv", (3 * width, width))
            yield from _both(f"{block}.attn.proj", (width, width))
            yield from _both(f"{block}.mlp.fc1", (4 * width, width))
            yield from _both(f"{block}.mlp.fc2", (width, 4 * width))
        if stage < len(DEPTHS) - 1:
            yield f"layers.{stage}.downsample.reduction.weight", (2 * width, 4 * width)
            yield from _both(f"layers.{stage}.downsample.norm", (4 * width,))
    yield from _both("norm", (WIDTH * 8,))
    yield from _both("tscam_conv", (527, WIDTH * 8, 2, 3))
    yield from _both("head", (527, 527))


def _gpt() -> Iterator[tuple[str, tuple[int, ...]]]:
    yield "wte.weight", (VOCABULARY, TEXT_WIDTH)
    yield "wpe.weight", (POSITIONS, TEXT_WIDTH)
    for layer in range(TEXT_LAYERS):
        for norm in ("ln_1", "ln_2"):
            yield from _both(f"h.{layer}.{norm}", (TEXT_WIDTH,))
        # Conv1D of GPT-2: inputs first.
        for name, width_in, width_out in (
            ("attn.c_attn", TEXT_WIDTH, 3 * TEXT_WIDTH), ("attn.c_proj", TEXT_WIDTH, TEXT_WIDTH),
            ("mlp.c_fc", TEXT_WIDTH, 4 * TEXT_WIDTH), ("mlp.c_proj", 4 * TEXT_WIDTH, TEXT_WIDTH),
        ):  # fmt: skip
            yield f"h.{layer}.{name}.weight", (width_in, width_out)
            yield f"h.{layer}.{name}.bias", (width_out,)
    yield from _both("ln_f", (TEXT_WIDTH,))


def msclap_state() -> dict[str, torch.Tensor]:
    """With what only the file has: masks, positions, the classifier, the spectrogram's own weights."""
    state = {name: _numbers(name, shape, place) for place, (name, shape) in enumerate(_shapes())}
    for stage, depth in enumerate(DEPTHS):
        for number in range(depth):
            state[f"{_HTSAT}layers.{stage}.blocks.{number}.attn.relative_position_index"] = torch.zeros(
                64, 64, dtype=torch.long
            )
    state[f"{_HTSAT}layers.0.blocks.1.attn_mask"] = torch.zeros(64, 64, 64)
    for layer in range(TEXT_LAYERS):
        state[f"{_GPT}h.{layer}.attn.bias"] = torch.ones(1, 1, POSITIONS, POSITIONS, dtype=torch.bool)
        state[f"{_GPT}h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    for part in ("real", "imag"):
        state[f"{_HTSAT}spectrogram_extractor.stft.conv_{part}.weight"] = torch.zeros(513, 1, 1024)
    state[f"{_HTSAT}logmel_extractor.melW"] = torch.from_numpy(published_filters()).float()
    state[f"{_HTSAT}bn0.num_batches_tracked"] = torch.tensor(0)
    return state | {"logit_scale": torch.tensor(2.66)}


def published_filters() -> Any:
    """(frequencies, mels): HTSAT's own settings name 32 kHz for them, whatever rate its sounds have."""
    return mel_filter_bank(513, 64, 50, 14_000, 32_000, norm="slaney", mel_scale="slaney")


def _numbers(name: str, shape: tuple[int, ...], place: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    waves = torch.cos(torch.arange(count, dtype=torch.float64) * (1.3 + 0.017 * place) + place)
    scaled = {"running_mean": -40 + 9 * waves, "running_var": 300 + 99 * waves}.get(name.split(".")[-1])
    if scaled is None:
        is_norm = len(shape) == 1 and name.endswith("weight")
        scaled = 1 + 0.3 * waves if is_norm else 0.3 * waves
    return scaled.float().reshape(shape)


def save_msclap(folder: Path) -> Path:
    """The file, and the tokenizer of GPT-2 beside it, without its merges."""
    torch.save({"model": msclap_state()}, folder / "CLAP_weights_2023.pth")
    gpt_tokenizer().save_pretrained(folder / "gpt2")
    return folder / "CLAP_weights_2023.pth"


def gpt_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A token per byte in GPT-2's order, "!" first, then the end of a text."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [*map(chr, printable), *(chr(256 + n) for n in range(256 - len(printable)))]
    tokenizer = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    end = "<|endoftext|>"
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=end, eos_token=end, unk_token=end
    )
