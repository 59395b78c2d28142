"""Tiny checkpoints with random weights, on disk as the published ones are, for `from_pretrained` to read.

Their tokenizers know a few words and every byte; the answers "Yes" and "No" are one token each, in three spellings.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

MELS = 16
_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
_TEXT = {**_SIZES, "vocab_size": 352, "max_position_embeddings": 4096}
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
    tokens = _save_tokenizer(folder, audio=("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"))
    _save_extractor(folder, chunk_length=20)
    config = transformers.Qwen2_5OmniThinkerConfig(
        audio_config={**_whisper(encoder="d_model"), "n_window": 10, "output_dim": 32},
        vision_config={"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32},
        text_config={**_TEXT, "rope_parameters": _ROPE},
        audio_token_index=tokens["<|AUDIO|>"],
        audio_start_token_id=tokens["<|audio_bos|>"],
        audio_end_token_id=tokens["<|audio_eos|>"],
        vision_start_token_id=351,
    )  # fmt: skip
    _save(transformers.Qwen2_5OmniThinkerForConditionalGeneration, config, folder)
    if whole:
        _below(
            folder,
            "thinker",
            {"model_type": "qwen2_5_omni", "talker_config": {"vocab_size": 160_000}, "token2wav_config": {}},
        )
    return folder


def tiny_qwen_audio(folder: Path) -> Path:
    """Without a chat template of its own, as the published one: its processor has it."""
    tokens = _save_tokenizer(folder, audio=("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"), chat=None)
    _save_extractor(folder, chunk_length=2)
    config = transformers.Qwen2AudioConfig(
        audio_config=_whisper(encoder="d_model"), text_config=_TEXT, audio_token_index=tokens["<|AUDIO|>"]
    )
    _save(transformers.Qwen2AudioForConditionalGeneration, config, folder)
    return folder


def tiny_flamingo(folder: Path, *, think: bool = False) -> Path:
    """Audio Flamingo 3; `think` with the adapter's folder, named as when the published one was made. Returns the folder
    to name, which then is the adapter's."""
    tokens = _save_tokenizer(folder, audio=("<sound>",))
    _save_extractor(folder, chunk_length=2)
    config = transformers.AudioFlamingo3Config(
        audio_config={**_whisper(encoder="hidden_size"), "model_type": "audioflamingo3_encoder"},
        text_config={**_TEXT, "model_type": "qwen2"},
        audio_token_id=tokens["<sound>"],
    )
    _save(transformers.AudioFlamingo3ForConditionalGeneration, config, folder)
    return _with_adapter(folder) if think else folder


def tiny_qwen3_omni(folder: Path) -> Path:
    tokens = _save_tokenizer(folder, audio=("<|audio_pad|>", "<|audio_start|>", "<|audio_end|>"))
    _save_extractor(folder, chunk_length=20)
    config = transformers.Qwen3OmniMoeThinkerConfig(
        audio_config={**_whisper(encoder="d_model"), "output_dim": 32, "downsample_hidden_size": 4},
        vision_config={"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 32,
                       "deepstack_visual_indexes": [0], "num_position_embeddings": 16},
        text_config={**_TEXT, "rope_parameters": {**_ROPE, "mrope_interleaved": True}, "num_experts": 6,
                     "num_experts_per_tok": 2, "moe_intermediate_size": 16},
        audio_token_id=tokens["<|audio_pad|>"],
        audio_start_token_id=tokens["<|audio_start|>"],
        vision_start_token_id=351,
    )  # fmt: skip
    _save(transformers.Qwen3OmniMoeThinkerForConditionalGeneration, config, folder)
    return folder


def _with_adapter(folder: Path) -> Path:
    from peft import LoraConfig, PeftModel

    torch.manual_seed(8)
    base = transformers.AudioFlamingo3ForConditionalGeneration.from_pretrained(folder)
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
    model = _enlarged(model_class(config), by=0.15)
    model.generation_config.eos_token_id = _END
    model.save_pretrained(folder)


def _enlarged(model: Any, *, by: float) -> Any:
    """As initialised, tiny models answer everything alike; larger weights make answers depend on every token."""
    for parameter in model.eval().parameters():
        parameter.data.add_(torch.randn_like(parameter) * by)
    return model


def _below(folder: Path, part: str, config: dict[str, Any]) -> None:
    """Move a checkpoint into a larger one, as its part of that name."""
    weights = folder / "model.safetensors"
    tensors = {f"{part}.{name}": tensor for name, tensor in load_file(weights).items()}
    save_file(tensors | {"talker.model.norm.weight": torch.ones(4)}, weights, {"format": "pt"})
    own = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {f"{part}_config": own}))


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
    transformers.WhisperFeatureExtractor(
        feature_size=MELS, chunk_length=chunk_length, return_attention_mask=True
    ).save_pretrained(folder)


def _save_tokenizer(folder: Path, *, audio: tuple[str, ...], chat: str | None = _CHAT) -> dict[str, int]:
    tokenizer = _byte_tokenizer(_WORDS, size=340, special=[_PAD, "<|im_start|>", "<|im_end|>", *audio])
    placed = audio[1] + audio[0] + audio[2] if len(audio) == 3 else audio[0]
    fast = transformers.PreTrainedTokenizerFast(
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


def _byte_tokenizer(words: list[str], *, size: int, special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=letters, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(words, trainer)
    return tokenizer


# Causal language models, and judges on top of them.

_ENDS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
_ALONE = {**_SIZES, **_ENDS, "vocab_size": 300, "max_position_embeddings": 512}


def tiny_llama(folder: Path) -> Path:
    return _saved(transformers.LlamaForCausalLM, transformers.LlamaConfig(**_ALONE), folder)


def tiny_olmo2(folder: Path) -> Path:
    settings = {name: value for name, value in _ALONE.items() if name != "head_dim"}
    return _saved(transformers.Olmo2ForCausalLM, transformers.Olmo2Config(**settings), folder)


def tiny_gemma3(folder: Path) -> Path:
    """Input and output layer are one, as in Gemma; a window of attention shorter than the texts."""
    config = transformers.Gemma3TextConfig(
        **_ALONE, sliding_window=16, layer_types=["sliding_attention", "full_attention"]
    )
    return _saved(transformers.Gemma3ForCausalLM, config, folder)


def tiny_gemma3_with_eyes(folder: Path) -> Path:
    """The larger Gemma 3 also see: their text model lies within, their sizes in text_config."""
    config = transformers.Gemma3Config(
        text_config={**_ALONE, "sliding_window": 16},
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
                       "image_size": 28, "patch_size": 14},
        mm_tokens_per_image=4,
    )  # fmt: skip
    return _saved(transformers.Gemma3ForConditionalGeneration, config, folder)


def released_judge(
    folder: Path, base: Path, *, score_type: str = "multinomial", arguments: Mapping[str, Any] | None = None
) -> Path:
    """As published: an adapter on `base`, a linear layer, and the tokenizer beside them."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(9)
    adapter = LoraConfig(
        r=4, lora_alpha=4, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False
    )
    lm = get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(base), adapter)
    lm.save_pretrained(folder / "model" / "lm")
    rows = {"beta": 2, "multinomial": 5}.get(score_type, 2)
    linear = torch.nn.Linear(32, rows)
    torch.save(
        {"linear.weight": linear.weight.data, "linear.bias": linear.bias.data},
        folder / "model" / "model_minus_lm.pt",
    )
    (folder / "model" / "config.yaml").write_text(
        f"init_type: xavier\nscore_type: {score_type}\nuse_cls_token: false\n"
    )
    transformers.AutoTokenizer.from_pretrained(base).save_pretrained(folder / "tokenizer")
    if arguments is not None:
        (folder / "args.yaml").write_text(json.dumps(arguments))
    return folder


def _saved(model_class: Any, config: Any, folder: Path) -> Path:
    torch.manual_seed(7)
    _enlarged(model_class(config), by=0.1).save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def _tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Every byte and a few words; as Llama's it puts a token of beginning first unless told not to."""
    words = ["question context correct candidate answer"] * 8
    tokenizer = _byte_tokenizer(words, size=290, special=["<bos>", "<eos>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>"
    )


# Causal language models that chat.

_CHAT_ENDS = {"bos_token_id": 0, "eos_token_id": 3, "pad_token_id": 3}
_CHATTING = {**_SIZES, **_CHAT_ENDS, "vocab_size": 480, "max_position_embeddings": 4096}
# As Llama's: the token of beginning is the template's to write. As Gemma's: no system prompt.
_TEXT_CHAT = """{{ bos_token }}{% for message in messages %}<|head|>{{ message['role'] }}
{{ message['content'] }}<|end|>{% endfor %}{% if add_generation_prompt %}<|head|>assistant
{% endif %}"""
_NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
# What it answers, whatever the prompt is; each token of it comes once.
_RATING = '{"score": 4}'


def tiny_chat(folder: Path, kind: str = "llama", *, rates: bool = False) -> Path:
    """A chat model: llama, qwen3, gemma3 (a window of attention of 16 tokens; no system prompt) or mistral (all layers
    with such a window). `rates`: it answers every prompt with {"score": 4}, most likely."""
    classes = {
        "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig, {}),
        "qwen3": (transformers.Qwen3ForCausalLM, transformers.Qwen3Config, {}),
        "gemma3": (
            transformers.Gemma3ForCausalLM,
            transformers.Gemma3TextConfig,
            {"sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"]},
        ),
        "mistral": (transformers.MistralForCausalLM, transformers.MistralConfig, {"sliding_window": 16}),
    }
    model_class, config_class, more = classes[kind]
    torch.manual_seed(13)
    model = _enlarged(model_class(config_class(**_CHATTING, **more)), by=0.1)
    tokenizer = _chat_tokenizer(_NO_SYSTEM + _TEXT_CHAT if kind == "gemma3" else _TEXT_CHAT)
    if rates:
        _answer_with(model, tokenizer, _RATING)
    model.generation_config.eos_token_id = [3, 1]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _chat_tokenizer(chat: str) -> transformers.PreTrainedTokenizerFast:
    words = [
        *(
            "Reference answer: Answer to be rated: Question: Transcript: rubric rating",
            "score explanation",
            _RATING,
        ),
        *("Give a score from 1 to 5 for how far the answer says the same as the reference answer",),
    ] * 8
    tokenizer = _byte_tokenizer(words, size=470, special=["<bos>", "<eos>", "<|head|>", "<|end|>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<|end|>", chat_template=chat,
        extra_special_tokens={"head_token": "<|head|>"},
    )  # fmt: skip


def _answer_with(model: Any, tokenizer: transformers.PreTrainedTokenizerFast, answer: str) -> None:
    """Each token of the answer follows from the one before it alone: attention and what is behind it add nothing. The
    ratings beside the likeliest one keep some probability."""
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.data.zero_()
        layer.mlp.down_proj.weight.data.zero_()
    start = tokenizer.encode("<|head|>assistant\n", add_special_tokens=False)[-1]
    ids = [start, *tokenizer.encode(answer, add_special_tokens=False), 3]
    assert len(set(ids)) == len(ids)
    head, norm = model.lm_head.weight.data, model.model.norm
    head.mul_(0.1)
    with torch.no_grad():
        for before, after in pairwise(ids):
            state = norm(model.model.embed_tokens.weight[before])
            head[after] = 12 * state / state.norm() ** 2
            if answer.find(tokenizer.decode([after])) >= 0 and tokenizer.decode([after]).strip() == "4":
                five = tokenizer.encode(tokenizer.decode([after]).replace("4", "5"), add_special_tokens=False)
                head[five[0]] = 11 * state / state.norm() ** 2


# CLAP: a folder as transformers has it, and a file as LAION publishes them.


def tiny_clap(folder: Path, *, fused: bool = False) -> Path:
    """All the parts of laion/clap-htsat-unfused (or -fused), with few and narrow layers."""
    extractor = transformers.ClapFeatureExtractor(
        frequency_min=50, truncation="fusion" if fused else "rand_trunc"
    )
    transformers.ClapProcessor(extractor, tiny_roberta_tokenizer()).save_pretrained(folder)
    tiny_clap_model(fused=fused).save_pretrained(folder)
    return folder


def tiny_clap_model(*, fused: bool = False, layer_norm_eps: float = 1e-12) -> transformers.ClapModel:
    torch.manual_seed(5)
    text = transformers.ClapTextConfig(
        vocab_size=len(tiny_roberta_tokenizer()), hidden_size=64, num_hidden_layers=2, num_attention_heads=1,
        intermediate_size=96, max_position_embeddings=514, layer_norm_eps=layer_norm_eps,
    )  # fmt: skip
    audio = transformers.ClapAudioConfig(
        hidden_size=64, patch_embeds_hidden_size=8, depths=[2, 1, 1, 1], num_attention_heads=[1, 2, 2, 4],
        enable_fusion=fused, fusion_type="aff_2d" if fused else None,
    )  # fmt: skip
    model = transformers.ClapModel(
        transformers.ClapConfig(text_config=text, audio_config=audio, projection_dim=24)
    ).eval()
    _give_character(model)
    return model


def tiny_roberta_tokenizer() -> transformers.RobertaTokenizer:
    """One token per letter, between <s> and </s>."""
    letters = string.ascii_letters + string.digits + string.punctuation + "Ġ"
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    vocabulary |= {letter: number + 4 for number, letter in enumerate(letters)}
    return transformers.RobertaTokenizer(vocab=vocabulary | {"<mask>": len(vocabulary)}, merges=[])


def laion_state(model: transformers.ClapModel) -> dict[str, torch.Tensor]:
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


# A Whisper whose windows last two seconds.


WINDOW_SECONDS = 2
_TEXT_END, _START = "<|endoftext|>", "<|startoftranscript|>"
_LANGUAGES = ("<|en|>", "<|de|>")
_TASKS = {"transcribe": "<|transcribe|>", "translate": "<|translate|>"}
# One for each fiftieth of a second of a window, and its end.
_TIMES = [f"<|{place / 50:.2f}|>" for place in range(WINDOW_SECONDS * 50 + 1)]


def tiny_whisper(folder: Path, *, multilingual: bool = True) -> Path:
    vocabulary = _save_whisper_tokenizer(folder)
    transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=WINDOW_SECONDS).save_pretrained(folder)
    torch.manual_seed(11)
    model = transformers.WhisperForConditionalGeneration(_whisper_config(vocabulary))
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.3)
    # It says something, rather than time stamps of which each begins another window.
    embeddings = model.model.decoder.embed_tokens.weight.data
    embeddings[: vocabulary[_TIMES[0]]] *= 3
    embeddings[vocabulary[_TIMES[0]] :] *= 0.01
    settings = {
        "eos_token_id": vocabulary[_TEXT_END],
        "pad_token_id": vocabulary[_TEXT_END],
        "decoder_start_token_id": vocabulary[_START],
        "no_timestamps_token_id": vocabulary["<|notimestamps|>"],
        "is_multilingual": multilingual,
        "max_length": 10,
        "max_initial_timestamp_index": 10,
    }
    if multilingual:
        settings["lang_to_id"] = {code: vocabulary[code] for code in _LANGUAGES}
        settings["task_to_id"] = {task: vocabulary[token] for task, token in _TASKS.items()}
    model.generation_config = transformers.GenerationConfig(**settings)
    model.save_pretrained(folder)
    return folder


def _whisper_config(vocabulary: dict[str, int]) -> transformers.WhisperConfig:
    return transformers.WhisperConfig(
        vocab_size=len(vocabulary), num_mel_bins=16, d_model=32, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
        max_source_positions=WINDOW_SECONDS * 50, max_target_positions=32,
        pad_token_id=vocabulary[_TEXT_END], bos_token_id=vocabulary[_TEXT_END], eos_token_id=vocabulary[_TEXT_END],
        decoder_start_token_id=vocabulary[_START], suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip


def _save_whisper_tokenizer(folder: Path) -> dict[str, int]:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = transformers.WhisperTokenizer({letter: place for place, letter in enumerate(letters)}, [])
    special = [_START, *_LANGUAGES, *_TASKS.values(), "<|notimestamps|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    # Whisper's time stamps come last and are no special tokens.
    tokenizer.add_tokens(_TIMES)
    tokenizer.save_pretrained(folder)
    return dict(tokenizer.get_vocab())
