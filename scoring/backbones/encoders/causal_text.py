"""Any causal language model as an encoder of answers: its hidden state at the last token, after the final norm.

As published: no chat template, no token of beginning or end, padding on the right. Texts longer than the model reads
are refused, never cut: the candidate, at their end, is what counts. The output layer is not computed: its numbers, one
for each token of the vocabulary at each place, would be most of the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from scoring.backbones.encoders.answer_texts import render_answer
from scoring.backbones.encoders.contract import AnswerEncoder, TextFields
from scoring.backbones.loading.adapters import apply_adapter, with_trainable_adapter
from scoring.backbones.loading.checkpoints import Checkpoint
from scoring.backbones.loading.pretrained import first_line, load_model
from scoring.metrics.contract import ExampleError, SetupError
from scoring.training.contract import RatedAnswer

# Of the released code (`orca_score/train.py`); the paper gives none.
PUBLISHED_SETTINGS = {
    "learning_rate": 5e-5,
    "weight_decay": 0.0,
    "steps": 4000,
    "batch": 8,
    "warmup": 100,
    "validate_every": 200,
    "patience": 5,
}
_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

# A change of this code that changes vectors takes a new number.
_VERSION = 1


class CausalText(AnswerEncoder):
    """`model` is a causal language model, or one with an adapter; `wording` and `fields` say what it reads."""

    def __init__(self, model: Any, tokenizer: Any, *, wording: str, fields: TextFields) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        self._wording, self._fields = wording, fields
        bare: Any = model.get_base_model() if isinstance(model, PeftModel) else model
        config = getattr(bare.config, "text_config", bare.config)
        self.width: int = config.hidden_size
        self._limit = context_length(config, tokenizer)
        self._known: int = bare.get_input_embeddings().num_embeddings
        # Not registered a second time: a part of `model`, which saves and moves it.
        object.__setattr__(self, "_decoder", bare.get_decoder())

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"code": f"causal-text/{_VERSION}", **self.settings}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"wording": self._wording, "fields": asdict(self._fields)}

    @property
    def defaults(self) -> Mapping[str, Any]:
        return PUBLISHED_SETTINGS

    def prepare(self, answers: Sequence[RatedAnswer]) -> list[torch.Tensor]:
        texts = [render_answer(answer, wording=self._wording, fields=self._fields) for answer in answers]
        ids: list[list[int]] = self.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        for tokens in ids:
            self._check(tokens)
        return [torch.tensor(tokens) for tokens in ids]

    def size(self, prepared: torch.Tensor) -> int:
        return len(prepared)

    def collate(self, prepared: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens of shape (answers, longest), and how many of them each answer has."""
        # Which token fills up is of no consequence: what comes after a token does not change it.
        return (
            torch.nn.utils.rnn.pad_sequence(list(prepared), batch_first=True),
            torch.tensor([len(tokens) for tokens in prepared]),
        )

    def forward(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        tokens, lengths = batch
        places = torch.arange(tokens.shape[1], device=tokens.device)
        states = self._decoder(  # type: ignore[operator]
            input_ids=tokens, attention_mask=(places < lengths[:, None]).long(), use_cache=False
        ).last_hidden_state
        last: torch.Tensor = states[torch.arange(len(tokens), device=tokens.device), lengths - 1]
        return last.float()

    def save(self, lm: Path, tokenizer: Path) -> None:
        """The adapter alone where there is one, else the whole model."""
        beside = {"save_embedding_layers": False} if isinstance(self.model, PeftModel) else {}
        self.model.save_pretrained(lm, **beside)
        self.tokenizer.save_pretrained(tokenizer)

    def _check(self, tokens: Sequence[int]) -> None:
        if not tokens:
            raise ExampleError("no_text", "There is no text to read.")
        if len(tokens) > self._limit:
            raise ExampleError(
                "too_long",
                f"This answer and what is read beside it take {len(tokens)} tokens, and the model reads {self._limit}. "
                "Shorten it, or use a model that reads more.",
            )
        if max(tokens) >= self._known:
            # On a GPU such a token would end the process.
            raise ExampleError(
                "unknown_token",
                "This answer, or what is read beside it, spells a token that the model has no weights for, such as a "
                "picture's. Write it otherwise.",
            )


def open_model(
    checkpoint: Checkpoint, *, dtype: torch.dtype, device: torch.device, merge: bool = True
) -> Any:
    """The causal language model of a checkpoint; its adapter, where it has one, merged or beside it, to be trained on.
    Raises SetupError."""
    disable_progress_bar()  # type: ignore[no-untyped-call]
    model = load_model("AutoModelForCausalLM", checkpoint, dtype=dtype, device=device)
    if checkpoint.adapter is None or merge:
        return apply_adapter(model, checkpoint)
    return with_trainable_adapter(model, checkpoint.adapter)


def open_tokenizer(folder: Path, model: Any) -> Any:
    """Raises SetupError."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise SetupError(
            f"There is no tokenizer in {folder}: {first_line(error)} Download it again."
        ) from error
    n_known, n_tokens = len(tokenizer), model.get_input_embeddings().num_embeddings
    # Where its files are missing, transformers may make an empty tokenizer and say nothing. Gemma 3's knows one token
    # more than its smaller models.
    if not 0 < n_known <= n_tokens + 64:
        raise SetupError(
            f"The tokenizer in {folder} knows {n_known} tokens, the model {n_tokens}. Put the model's own tokenizer "
            "there."
        )
    return tokenizer


def with_new_adapter(model: Any, *, rank: int, base: str) -> Any:
    """The model, frozen, with a low-rank adapter to be trained, r = alpha, no dropout; `base` is what the adapter will
    name as its model. Raises SetupError where the model has none of the layers that are changed."""
    inside = next(name for name, part in model.named_modules() if part is model.get_decoder())
    there = [name.rpartition(".")[2] for name, _ in model.get_decoder().named_modules()]
    targets = [target for target in _TARGETS if target in there]
    if not targets:
        raise SetupError(
            f"{base} has no layer called {', '.join(_TARGETS)}, where an adapter would go. Train it whole: tuning=full."
        )
    # The decoder's only: towers for pictures and sounds have layers of the same names.
    places = rf"{inside.replace('.', '[.]')}[.](.*[.])?({'|'.join(targets)})"
    config = LoraConfig(r=rank, lora_alpha=rank, lora_dropout=0.0, target_modules=places)
    config.base_model_name_or_path = base
    # So that peft takes the name above for the model's own.
    model.name_or_path = base
    return get_peft_model(model, config)


def unfreeze_all(model: Any) -> None:
    """Let all weights learn but the output layer's, which nothing reads, unless it is the input layer's too."""
    model.requires_grad_(True)
    output = model.get_output_embeddings()
    if output is not None and output.weight is not model.get_input_embeddings().weight:
        output.requires_grad_(False)


def context_length(config: Any, tokenizer: Any) -> int:
    """In tokens. A tokenizer that knows of none gives an enormous number."""
    return int(min(getattr(config, "max_position_embeddings", None) or 10**9, tokenizer.model_max_length))
