"""Tiny encoders of texts with random weights, on disk as published ones are: BERT, RoBERTa, a sentence encoder in the
layout of sentence-transformers, and FENSE's detector of fluency errors."""

from __future__ import annotations

import json
import string
from pathlib import Path

import torch
import transformers

from tests.scoring.checkpoints import tiny_roberta_tokenizer

_WORDS = [
    "a",
    "the",
    "dog",
    "cat",
    "man",
    "bird",
    "barks",
    "is",
    "speaking",
    "rain",
    "falls",
    "bell",
    "of",
    "and",
    "in",
    "it",
]
_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 80,
}


def tiny_bert(folder: Path) -> Path:
    """As bert-base-uncased: words and letters, lower case, no weights of a pooler, like checkpoints of masked language
    models."""
    _bert_tokenizer().save_pretrained(folder)
    torch.manual_seed(3)
    config = transformers.BertConfig(vocab_size=len(_bert_tokenizer()), **_SIZES)
    _spread(transformers.BertModel(config, add_pooling_layer=False)).save_pretrained(folder)
    return folder


def tiny_roberta(folder: Path) -> Path:
    """As roberta-large: positions begin after that of padding."""
    tokenizer = tiny_roberta_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(4)
    config = transformers.RobertaConfig(vocab_size=len(tokenizer), pad_token_id=1, **_SIZES)
    _spread(transformers.RobertaModel(config, add_pooling_layer=False)).save_pretrained(folder)
    return folder


def tiny_sentence_encoder(folder: Path, *, pooling: str = "mean_tokens", longest: int = 32) -> Path:
    """As sentence-transformers/paraphrase-TinyBERT-L6-v2."""
    tiny_bert(folder)
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": longest, "do_lower_case": False})
    )
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{name}": name == pooling for name in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 32, **modes, "pooling_mode_mean_sqrt_len_tokens": False})
    )
    return folder


def tiny_fluency_detector(folder: Path, *, bias: float = 0.0) -> Path:
    """The .ckpt file as published, with the configuration of its encoder in a folder beside it. `bias` is added to the
    output that says that there is an error."""
    encoder = tiny_bert(folder / "bert-tiny")
    model = transformers.BertModel.from_pretrained(encoder)
    torch.manual_seed(6)
    head = torch.nn.Linear(32, 6)
    head.bias.data[-1] += bias
    state = {f"encoder.{name}": part for name, part in _with_pooler(model).items()}
    state |= {f"clf.{name}": part for name, part in head.state_dict().items()}
    # Versions of transformers of its time saved these too.
    state["encoder.embeddings.position_ids"] = torch.arange(80)[None]
    file = folder / "echecker_clotho_audiocaps_tiny.ckpt"
    torch.save({"model_type": "prajjwal1/bert-tiny", "num_classes": 6, "state_dict": state}, file)
    return file


def _with_pooler(model: transformers.BertModel) -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    pooler = transformers.models.bert.modeling_bert.BertPooler(model.config)
    return {**model.state_dict(), **{f"pooler.{name}": part for name, part in pooler.state_dict().items()}}


def _bert_tokenizer() -> transformers.BertTokenizer:
    letters = string.ascii_lowercase + string.digits + string.punctuation
    tokens = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *_WORDS,
        *letters,
        *(f"##{each}" for each in letters),
    ]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return transformers.BertTokenizer(vocab=vocabulary, model_max_length=80)


def _spread(model: torch.nn.Module) -> torch.nn.Module:
    """As initialised, tiny models embed everything alike."""
    for parameter in model.eval().parameters():
        parameter.data.add_(torch.randn_like(parameter) * 0.3)
    return model
