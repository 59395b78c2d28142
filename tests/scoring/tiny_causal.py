"""Tiny causal language models with random weights, on disk as the published ones are, and judges on top of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

_TEXT = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
}


def tiny_llama(folder: Path) -> Path:
    from transformers import LlamaConfig, LlamaForCausalLM

    return _saved(LlamaForCausalLM, LlamaConfig(**_TEXT), folder)


def tiny_olmo2(folder: Path) -> Path:
    from transformers import Olmo2Config, Olmo2ForCausalLM

    settings = {name: value for name, value in _TEXT.items() if name != "head_dim"}
    return _saved(Olmo2ForCausalLM, Olmo2Config(**settings), folder)


def tiny_gemma3(folder: Path) -> Path:
    """Input and output layer are one, as in Gemma; a window of attention shorter than the texts."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    config = Gemma3TextConfig(**_TEXT, sliding_window=16, layer_types=["sliding_attention", "full_attention"])
    return _saved(Gemma3ForCausalLM, config, folder)


def tiny_gemma3_with_eyes(folder: Path) -> Path:
    """The larger Gemma 3 also see: their text model lies within, their sizes in text_config."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    config = Gemma3Config(
        text_config={**_TEXT, "sliding_window": 16},
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
                       "image_size": 28, "patch_size": 14},
        mm_tokens_per_image=4,
    )  # fmt: skip
    return _saved(Gemma3ForConditionalGeneration, config, folder)


def released_judge(
    folder: Path, base: Path, *, score_type: str = "multinomial", arguments: Mapping[str, Any] | None = None
) -> Path:
    """As published: an adapter on `base`, a linear layer, and the tokenizer beside them."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(9)
    adapter = LoraConfig(
        r=4, lora_alpha=4, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False
    )
    lm = get_peft_model(AutoModelForCausalLM.from_pretrained(base), adapter)
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
    AutoTokenizer.from_pretrained(base).save_pretrained(folder / "tokenizer")
    if arguments is not None:
        (folder / "args.yaml").write_text(json.dumps(arguments))
    return folder


def _saved(model_class: Any, config: Any, folder: Path) -> Path:
    torch.manual_seed(7)
    model = model_class(config).eval()
    # As initialised, tiny models answer everything alike; larger weights make states depend on every token.
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def _tokenizer() -> PreTrainedTokenizerFast:
    """Every byte and a few words; as Llama's it puts a token of beginning first unless told not to."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=290,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<bos>", "<eos>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["question context correct candidate answer"] * 8, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>")
