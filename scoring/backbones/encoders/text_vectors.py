"""Vectors of texts by encoders of transformers (BERT, RoBERTa, MPNet, …): of every token, or of a sentence.

Each text goes through the model by itself: a value then cannot depend on what else is in a batch, and references that
recur are remembered.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from scoring.backbones.loading.checkpoints import find_checkpoint, find_model_folder
from scoring.backbones.loading.feature_cache import text_digest
from scoring.backbones.loading.pretrained import first_line, load_model
from scoring.metrics.contract import ExampleError, SetupError

# A change of this code that changes a vector takes a new number.
_VERSION = 1
# A vector of a sentence is a few kilobytes, of all its tokens a few hundred.
_REMEMBERED = 512
# Weights of heads that no vector comes from; published checkpoints often lack them.
_UNUSED = ("pooler.",)


class TextEncoder:
    """A model and its tokenizer. `longest` is the number of tokens it reads, those of beginning and end among them;
    `n_layers` that of its layers, so that the states before and after each are `n_layers` + 1."""

    def __init__(
        self, model: Any, tokenizer: Any, *, weights: str, longest: int, lower_case: bool = False
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._lower_case = lower_case
        self._device = next(model.parameters()).device
        self.longest = longest
        self.n_layers = int(model.config.num_hidden_layers)
        self.identity: Mapping[str, Any] = {
            "code": f"text-vectors/{_VERSION}",
            "weights": weights,
            "tokenizer": text_digest(tokenizer.backend_tokenizer.to_str()),
            "longest": longest,
            "lower_case": lower_case,
            "dtype": "float32",
        }

    def token_ids(self, text: str, *, cut: bool) -> list[int]:
        """With those of beginning and end. Raises ExampleError `too_long`, unless a longer text is to be cut, and
        `unknown_script` where the tokenizer knows nothing of the text."""
        text = text.lower() if self._lower_case else text
        ids = self._tokenizer(text, truncation=cut, max_length=self.longest if cut else None, verbose=False)[
            "input_ids"
        ]
        own = [
            id
            for id in ids
            if id not in set(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        ]
        if text and all(id == self._tokenizer.unk_token_id for id in own):
            raise ExampleError(
                "unknown_script",
                f"The encoder knows no character of “{text[:40]}”. Use one of this language, or a multilingual one.",
            )
        if len(ids) > self.longest:
            raise ExampleError(
                "too_long",
                f"This text takes {len(ids)} tokens and the encoder reads {self.longest}, begin and end among them. "
                "Use long_texts=cut to read the beginning, or an encoder that reads more.",
            )
        return list(ids)

    @torch.inference_mode()
    def states(self, ids: Sequence[int], *, layer: int) -> torch.Tensor:
        """After this layer, 0 for the embeddings: (tokens, width), float32 on the CPU."""
        tokens = torch.tensor([list(ids)], device=self._device)
        output = self._model(
            input_ids=tokens,
            attention_mask=torch.ones_like(tokens),
            output_hidden_states=layer != self.n_layers,
        )
        chosen: torch.Tensor = (
            output.last_hidden_state if layer == self.n_layers else output.hidden_states[layer]
        )
        return chosen[0].float().cpu()

    def special_places(self, ids: Sequence[int]) -> list[bool]:
        """Whether each token is one of beginning or end, which no text holds."""
        special = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}
        return [id in special for id in ids]


def open_text_encoder(
    name: str, *, device: torch.device, longest: int | None = None, lower_case: bool = False
) -> TextEncoder:
    """`name` is a hub name or a folder that from_pretrained takes. Raises SetupError."""
    checkpoint = find_checkpoint(name)
    if checkpoint.adapter is not None:
        raise SetupError(
            f"{name} is an adapter. Merge it into its base first, and name the folder of the whole."
        )
    if checkpoint.config.get("is_encoder_decoder"):
        raise SetupError(
            f"{name} is an encoder with a decoder. Use an encoder alone, such as FacebookAI/roberta-large."
        )
    model = load_model("AutoModel", checkpoint, dtype=torch.float32, device=device, optional=_UNUSED)
    tokenizer = load_tokenizer(checkpoint.folder, name=name, vocabulary=model.config.vocab_size)
    limit = _positions(model, tokenizer)
    return TextEncoder(
        model, tokenizer,
        weights=checkpoint.revision, longest=min(longest or limit, limit), lower_case=lower_case,
    )  # fmt: skip


def load_tokenizer(folder: Path, *, name: str, vocabulary: int) -> Any:
    """Raises SetupError where it is missing: transformers makes an empty one in its place and goes on."""
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # each family of tokenizers raises its own
        raise SetupError(f"{name} lacks its tokenizer: {first_line(error)}. Download it again.") from error
    if not vocabulary / 2 < len(tokenizer) <= vocabulary:
        raise SetupError(
            f"The tokenizer in {name} knows {len(tokenizer)} tokens, the model {vocabulary}. Download it again."
        )
    return tokenizer


def _positions(model: Any, tokenizer: Any) -> int:
    """RoBERTa and its kin count positions from after that of padding."""
    offset = model.config.pad_token_id + 1 if hasattr(model.embeddings, "padding_idx") else 0
    return min(int(model.config.max_position_embeddings) - offset, int(tokenizer.model_max_length))


# ── sentences: the layout of sentence-transformers ──

_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
_POOLING = ("cls", "mean_tokens")


class SentenceEncoder:
    """A transformer and how its tokens become one vector: their mean, or the first."""

    def __init__(self, encoder: TextEncoder, *, pooling: str, cut: bool) -> None:
        self._encoder, self._pooling, self._cut = encoder, pooling, cut
        self._remembered: OrderedDict[str, torch.Tensor] = OrderedDict()
        self.identity: Mapping[str, Any] = {
            **encoder.identity,
            "pooling": pooling,
            "long_texts": "cut" if cut else "fault",
        }

    def vector(self, text: str) -> torch.Tensor:
        """Of length 1, float64: (width,). Raises ExampleError, see TextEncoder."""
        return remembered(self._remembered, text, self._vector)

    def _vector(self, text: str) -> torch.Tensor:
        states = self._encoder.states(
            self._encoder.token_ids(text, cut=self._cut), layer=self._encoder.n_layers
        )
        pooled = states[0] if self._pooling == "cls" else states.mean(dim=0)
        return torch.nn.functional.normalize(pooled.double(), dim=0)


def remembered(
    memory: OrderedDict[str, torch.Tensor], text: str, compute: Callable[[str], torch.Tensor]
) -> torch.Tensor:
    """What was computed of this text before, or is now."""
    if text not in memory:
        memory[text] = compute(text)
        if len(memory) > _REMEMBERED:
            memory.popitem(last=False)
    memory.move_to_end(text)
    return memory[text]


def open_sentence_encoder(
    name: str, *, below: Path | None, device: torch.device, cut: bool
) -> SentenceEncoder:
    """`name` is a hub name, a folder, or one below the folder of checkpoints, as sentence-transformers publishes them:
    modules.json, a transformer, a pooling, and at most a normalisation after it. Raises SetupError."""
    folder = find_model_folder(name, below=below, files=_FILES)
    parts = _modules(folder)
    transformer = folder / parts["Transformer"]
    settings = (
        _read_table(transformer / "sentence_bert_config.json")
        if (transformer / "sentence_bert_config.json").is_file()
        else {}
    )
    encoder = open_text_encoder(
        str(transformer),
        device=device,
        longest=settings.get("max_seq_length"),
        lower_case=bool(settings.get("do_lower_case")),
    )
    return SentenceEncoder(encoder, pooling=_pooling(folder / parts["Pooling"] / "config.json"), cut=cut)


def _modules(folder: Path) -> dict[str, str]:
    """The folder of each part, by its kind."""
    file = folder / "modules.json"
    if not file.is_file():
        raise SetupError(
            f"{folder} is no sentence encoder: it has no modules.json. Give a folder in the layout of "
            "sentence-transformers, or a hub name such as sentence-transformers/paraphrase-TinyBERT-L6-v2."
        )
    try:
        parts = {
            part["type"].rpartition(".")[2]: part["path"] for part in json.loads(file.read_text("utf-8"))
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SetupError(f"{file} cannot be read: it is no list of modules. Download it again.") from error
    if not {"Transformer", "Pooling"} <= set(parts) <= {"Transformer", "Pooling", "Normalize"}:
        raise SetupError(
            f"{folder} is made of {', '.join(parts)}. Sentence encoders of a Transformer, a Pooling and at most a "
            "Normalize are read here; use one of these."
        )
    return parts


def _pooling(file: Path) -> str:
    settings = _read_table(file)
    chosen = [
        name.removeprefix("pooling_mode_")
        for name, value in settings.items()
        if name.startswith("pooling_mode_") and value
    ]
    chosen = ["cls" if name == "cls_token" else name for name in chosen]
    if isinstance(settings.get("pooling_mode"), str):
        chosen = [{"mean": "mean_tokens"}.get(settings["pooling_mode"], settings["pooling_mode"])]
    if len(chosen) != 1 or chosen[0] not in _POOLING:
        raise SetupError(
            f"{file} asks for the pooling {', '.join(chosen) or 'of nothing'}. Sentence encoders that take the mean of "
            "the tokens or the first of them are read here."
        )
    return chosen[0]


def _read_table(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(f"{file} cannot be read: {error}. Download it again.") from error
    if not isinstance(content, dict):
        raise SetupError(f"{file} is not what it should be: a JSON object. Download it again.")
    return content
