"""Tiny checkpoints with random weights, on disk as the published ones are, for `from_pretrained` to read.

Their tokenizers know a few words and every byte; the answers "Yes" and "No" are one token each, in three spellings.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, WhisperFeatureExtractor

MELS = 16
_WORDS = [
    *("Yes", "No", "yes", "no", "YES", "NO"),
    "Does this audio contain the sound events described by the text",
] * 8
# Special tokens come first in the vocabulary.
_ROPE = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 1, 1]}
_PAD, _END = "<|endoftext|>", 2
_CHAT = """{% if messages[0]['role'] != 'system' %}<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message['role'] }}
{% for content in message['content'] %}{% if content['type'] == 'audio' %}AUDIO\
{% else %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def tiny_qwen_omni(folder: Path, *, whole: bool = False) -> Path:
    """Qwen2.5-Omni's thinker; `whole` as the published checkpoint has it, below a model that also talks."""
    from transformers import Qwen2_5OmniThinkerConfig, Qwen2_5OmniThinkerForConditionalGeneration

    tokens = _save_tokenizer(folder, audio=("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"))
    _save_extractor(folder, chunk_length=20)
    config = Qwen2_5OmniThinkerConfig(
        audio_config={**_whisper(encoder="d_model"), "n_window": 10, "output_dim": 32},
        vision_config={"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32},
        text_config={**_text(), "rope_parameters": _ROPE},
        audio_token_index=tokens["<|AUDIO|>"],
        audio_start_token_id=tokens["<|audio_bos|>"],
        audio_end_token_id=tokens["<|audio_eos|>"],
        vision_start_token_id=351,
    )  # fmt: skip
    _save(Qwen2_5OmniThinkerForConditionalGeneration, config, folder)
    if whole:
        _below(
            folder,
            "thinker",
            {"model_type": "qwen2_5_omni", "talker_config": {"vocab_size": 160_000}, "token2wav_config": {}},
        )
    return folder


def tiny_qwen_audio(folder: Path) -> Path:
    """Without a chat template of its own, as the published one: its processor has it."""
    from transformers import Qwen2AudioConfig, Qwen2AudioForConditionalGeneration

    tokens = _save_tokenizer(folder, audio=("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"), chat=None)
    _save_extractor(folder, chunk_length=2)
    config = Qwen2AudioConfig(
        audio_config=_whisper(encoder="d_model"), text_config=_text(), audio_token_index=tokens["<|AUDIO|>"]
    )
    _save(Qwen2AudioForConditionalGeneration, config, folder)
    return folder


def tiny_flamingo(folder: Path, *, think: bool = False) -> Path:
    """Audio Flamingo 3; `think` with the adapter's folder, named as when the published one was made. Returns the folder
    to name, which then is the adapter's."""
    from transformers import AudioFlamingo3Config, AudioFlamingo3ForConditionalGeneration

    tokens = _save_tokenizer(folder, audio=("<sound>",))
    _save_extractor(folder, chunk_length=2)
    config = AudioFlamingo3Config(
        audio_config={**_whisper(encoder="hidden_size"), "model_type": "audioflamingo3_encoder"},
        text_config={**_text(), "model_type": "qwen2"},
        audio_token_id=tokens["<sound>"],
    )
    _save(AudioFlamingo3ForConditionalGeneration, config, folder)
    return _with_adapter(folder) if think else folder


def tiny_qwen3_omni(folder: Path) -> Path:
    from transformers import Qwen3OmniMoeThinkerConfig, Qwen3OmniMoeThinkerForConditionalGeneration

    tokens = _save_tokenizer(folder, audio=("<|audio_pad|>", "<|audio_start|>", "<|audio_end|>"))
    _save_extractor(folder, chunk_length=20)
    config = Qwen3OmniMoeThinkerConfig(
        audio_config={**_whisper(encoder="d_model"), "output_dim": 32, "downsample_hidden_size": 4},
        vision_config={"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32,
                       "deepstack_visual_indexes": [0], "num_position_embeddings": 16},
        text_config={**_text(), "rope_parameters": {**_ROPE, "mrope_interleaved": True}, "num_experts": 6,
                     "num_experts_per_tok": 2, "moe_intermediate_size": 16},
        audio_token_id=tokens["<|audio_pad|>"],
        audio_start_token_id=tokens["<|audio_start|>"],
        vision_start_token_id=351,
    )  # fmt: skip
    _save(Qwen3OmniMoeThinkerForConditionalGeneration, config, folder)
    return folder


def _with_adapter(folder: Path) -> Path:
    from peft import LoraConfig, PeftModel
    from safetensors.torch import load_file, save_file
    from transformers import AudioFlamingo3ForConditionalGeneration

    torch.manual_seed(8)
    base = AudioFlamingo3ForConditionalGeneration.from_pretrained(folder)
    config = LoraConfig(r=2, lora_alpha=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    adapter = folder / "think"
    PeftModel(base, config).save_pretrained(adapter)
    weights = adapter / "adapter_model.safetensors"
    save_file({_as_once(name): tensor for name, tensor in load_file(weights).items()}, weights)
    beside = {"multi_modal_projector.linear_1.bias": torch.randn(32)}
    torch.save(beside, adapter / "non_lora_trainables.bin")
    return adapter


def _as_once(name: str) -> str:
    return name.replace("model.model.audio_tower", "model.audio_tower").replace(
        "model.model.language_model", "model.language_model.model"
    )


def _save(model_class: Any, config: Any, folder: Path) -> None:
    torch.manual_seed(7)
    model = model_class(config).eval()
    # As initialised, tiny models answer everything alike; larger weights make answers depend on every token.
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.15)
    model.generation_config.eos_token_id = _END
    model.save_pretrained(folder)


def _below(folder: Path, part: str, config: dict[str, Any]) -> None:
    """Move a checkpoint into a larger one, as its part of that name."""
    from safetensors.torch import load_file, save_file

    weights = folder / "model.safetensors"
    tensors = {f"{part}.{name}": tensor for name, tensor in load_file(weights).items()}
    save_file(tensors | {"talker.model.norm.weight": torch.ones(4)}, weights, {"format": "pt"})
    own = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {f"{part}_config": own}))


def _text() -> dict[str, Any]:
    return {
        "vocab_size": 352,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 4096,
    }


def _whisper(*, encoder: str) -> dict[str, Any]:
    return {
        "num_mel_bins": MELS,
        encoder: 32,
        "encoder_layers": 2,
        "encoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "max_source_positions": 100,
    }


def _save_extractor(folder: Path, *, chunk_length: int) -> None:
    WhisperFeatureExtractor(
        feature_size=MELS, chunk_length=chunk_length, return_attention_mask=True
    ).save_pretrained(folder)


def _save_tokenizer(folder: Path, *, audio: tuple[str, ...], chat: str | None = _CHAT) -> dict[str, int]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = [_PAD, "<|im_start|>", "<|im_end|>", *audio]
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_WORDS, trainer)
    placed = audio[1] + audio[0] + audio[2] if len(audio) == 3 else audio[0]
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token=_PAD,
        chat_template=chat.replace("AUDIO", placed) if chat else None,
        extra_special_tokens=dict(
            zip(("audio_token", "audio_bos_token", "audio_eos_token"), audio, strict=False)
        ),
    )
    fast.save_pretrained(folder)
    return dict(fast.get_vocab())
