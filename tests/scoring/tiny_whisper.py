"""A tiny Whisper with random weights, on disk as the published ones are. Its windows last two seconds."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import pre_tokenizers
from transformers import (
    GenerationConfig,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperTokenizer,
)

WINDOW_SECONDS = 2
_END, _START = "<|endoftext|>", "<|startoftranscript|>"
_LANGUAGES = ("<|en|>", "<|de|>")
_TASKS = {"transcribe": "<|transcribe|>", "translate": "<|translate|>"}
# One for each fiftieth of a second of a window, and its end.
_TIMES = [f"<|{place / 50:.2f}|>" for place in range(WINDOW_SECONDS * 50 + 1)]


def tiny_whisper(folder: Path, *, multilingual: bool = True) -> Path:
    vocabulary = _save_tokenizer(folder)
    WhisperFeatureExtractor(feature_size=16, chunk_length=WINDOW_SECONDS).save_pretrained(folder)
    torch.manual_seed(11)
    model = WhisperForConditionalGeneration(_config(vocabulary))
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.3)
    # It says something, rather than time stamps of which each begins another window.
    embeddings = model.model.decoder.embed_tokens.weight.data
    embeddings[: vocabulary[_TIMES[0]]] *= 3
    embeddings[vocabulary[_TIMES[0]] :] *= 0.01
    settings = {
        "eos_token_id": vocabulary[_END],
        "pad_token_id": vocabulary[_END],
        "decoder_start_token_id": vocabulary[_START],
        "no_timestamps_token_id": vocabulary["<|notimestamps|>"],
        "is_multilingual": multilingual,
        "max_length": 10,
        "max_initial_timestamp_index": 10,
    }
    if multilingual:
        settings["lang_to_id"] = {code: vocabulary[code] for code in _LANGUAGES}
        settings["task_to_id"] = {task: vocabulary[token] for task, token in _TASKS.items()}
    model.generation_config = GenerationConfig(**settings)
    model.save_pretrained(folder)
    return folder


def _config(vocabulary: dict[str, int]) -> WhisperConfig:
    return WhisperConfig(
        vocab_size=len(vocabulary), num_mel_bins=16, d_model=32, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
        max_source_positions=WINDOW_SECONDS * 50, max_target_positions=32,
        pad_token_id=vocabulary[_END], bos_token_id=vocabulary[_END], eos_token_id=vocabulary[_END],
        decoder_start_token_id=vocabulary[_START], suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip


def _save_tokenizer(folder: Path) -> dict[str, int]:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = WhisperTokenizer({letter: place for place, letter in enumerate(letters)}, [])
    special = [_START, *_LANGUAGES, *_TASKS.values(), "<|notimestamps|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    # Whisper's time stamps come last and are no special tokens.
    tokenizer.add_tokens(_TIMES)
    tokenizer.save_pretrained(folder)
    return dict(tokenizer.get_vocab())
