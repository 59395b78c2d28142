"""Contracts of encoders: MusicEncoder over spans of sound, AnswerEncoder over rated answers.

Looking at this module loads no model code besides torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from scoring.metrics.contract import ExampleError, Sound
from scoring.training.contract import RatedAnswer

# ── answer encoders: the vector that a judge's head reads (ORCA §4.1) ──


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
        """The network's input of each answer, computed once: tensors on the CPU. Raises ExampleError for
        an answer that cannot be read; called with one answer, that error is this answer's."""
        raise NotImplementedError

    def size(self, prepared: Any) -> int:
        """The length of a prepared answer, for batches of even length."""
        raise NotImplementedError

    def collate(self, prepared: Sequence[Any]) -> Any:
        """One batch: a tensor, or a tuple or a mapping of tensors, on the CPU."""
        raise NotImplementedError

    def forward(self, batch: Any) -> torch.Tensor:
        """Shape (answers, width), float32. A row does not depend on what else is in the batch."""
        raise NotImplementedError


def on_device(batch: Any, device: torch.device) -> Any:
    """A collated batch moved to where the weights are."""
    if isinstance(batch, Mapping):
        return {name: on_device(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(on_device(part, device) for part in batch)
    return batch.to(device, non_blocking=True) if isinstance(batch, torch.Tensor) else batch


# Of a longer sound only the beginning is ever heard, as in the paper's training and in its inference (CMI-RewardBench,
# Appendix F.2).
HEARD_SECONDS = 120.0


@dataclass(frozen=True)
class Span:
    """A part of a sound: from `start` on, in seconds, for `seconds` or to the sound's end where that is sooner.
    It lies within the first HEARD_SECONDS."""

    sound: Sound
    start: float = 0.0
    seconds: float = 120.0


class MusicEncoder(Protocol):
    """A frozen encoder of sounds and texts into one space.

    `width` is the last dimension of all it gives. `identity` holds, as JSON, all that can change its output: code
    version, weights, preprocessing. Every tensor is float32 on the CPU, without gradients, of at least one row, and
    does not depend on what else is in the call. Results are kept by content and identity (FeatureCache), so that each
    is computed once.
    """

    @property
    def width(self) -> int: ...

    @property
    def identity(self) -> Mapping[str, Any]: ...

    def prepare(self, spans: Sequence[Span]) -> None:
        """Begin to decode these in threads, and return at once; raises nothing. It may do nothing."""
        ...

    def of_spans(self, spans: Sequence[Span]) -> list[torch.Tensor | ExampleError]:
        """In the order asked: (frames, width) in the order of time, or why there are none: the file is missing, cannot
        be decoded, or ends before the span begins."""
        ...

    def of_texts(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """In the order asked: (tokens, width). Texts of any length are read; the empty text has a token as well."""
        ...
