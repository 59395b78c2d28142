"""What turns an answer, beside its question and the rest, into the vector that a judge's head reads (ORCA §4.1).

Whoever writes an encoder and whoever trains or opens one meet here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import torch

from scoring.training.contract import RatedAnswer

# Encoders that need no download, by the name that settings give them: "module:class". Each is made as
# `Class(question=…, rationale=…, transcript=…)`, its first weights drawn from torch's own generator, which the training
# seeds.
BUILT_IN = {"built-in": "scoring.backbones.ngram_answers:NgramAnswers"}


@dataclass(frozen=True)
class TextFields:
    """Which fields are read beside the reference and the candidate, which always are. The default is the paper's best
    (§6.3: question and rationale, no transcript)."""

    question: bool = True
    rationale: bool = True
    transcript: bool = False


class AnswerEncoder(torch.nn.Module):
    """An encoder is a module whose weights are trained together with the head.

    `width` is the length of its vectors. `identity` holds, as JSON, all that can change a vector except the weights:
    code version, fields, preprocessing. `settings` is what its class is called with to make it again, before its
    state_dict is loaded, as JSON. `defaults` are the settings of a training that suit it, for those the user left open:
    learning_rate, weight_decay, steps, batch, warmup, validate_every, patience.
    """

    width: int

    @property
    def identity(self) -> Mapping[str, Any]:
        raise NotImplementedError

    @property
    def settings(self) -> Mapping[str, Any]:
        raise NotImplementedError

    @property
    def defaults(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def fit(self, answers: Sequence[RatedAnswer]) -> None:
        """Called once, with the answers to learn from, before the first step: for what is counted and not learned, such
        as how rare a word is. It belongs into buffers, so that it is saved with the weights. Must not draw lots."""

    def prepare(self, answers: Sequence[RatedAnswer]) -> list[Any]:
        """What of each answer the network is fed, computed once and kept: tensors on the CPU. Raises ExampleError for
        an answer that cannot be read; called with one answer, that error is this answer's."""
        raise NotImplementedError

    def size(self, prepared: Any) -> int:
        """How long one is, for batches of even length."""
        raise NotImplementedError

    def collate(self, prepared: Sequence[Any]) -> Any:
        """One batch: a tensor, or a tuple or a mapping of tensors, on the CPU."""
        raise NotImplementedError

    def forward(self, batch: Any) -> torch.Tensor:
        """Shape (answers, width), float32. A row does not depend on what else is in the batch."""
        raise NotImplementedError


def new_built_in(name: str, fields: TextFields) -> AnswerEncoder:
    """An untrained one."""
    return made(name, asdict(fields))


def made(name: str, settings: Mapping[str, Any]) -> AnswerEncoder:
    """A built-in encoder again from its `settings`, its weights still to be loaded."""
    module, _, kind = BUILT_IN[name].partition(":")
    encoder: AnswerEncoder = getattr(import_module(module), kind)(**settings)
    return encoder


def on_device(batch: Any, device: torch.device) -> Any:
    """A collated batch moved to where the weights are."""
    if isinstance(batch, Mapping):
        return {name: on_device(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(on_device(part, device) for part in batch)
    return batch.to(device, non_blocking=True) if isinstance(batch, torch.Tensor) else batch
