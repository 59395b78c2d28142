"""CMI-RM inputs: tokens of prompts and sounds, pooled, joined and padded to batches.

What a prompt lacks. The paper speaks of zero tensors for empty modalities and does not say how long they are or whether
they are attended to. Here a modality that is absent has no token; a prompt that has none at all is one zero token that
is masked. The released code does the same for a missing reference, but runs an empty text and empty lyrics through the
text encoder and attends to what comes of it. Both are here (`AbsentModality`), for the scores of a model depend on how
it was trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from scoring.backbones.encoders.contract import HEARD_SECONDS, MusicEncoder, Span
from scoring.metrics.contract import ExampleError, Sound


class AbsentModality(StrEnum):
    """The treatment of a text or of lyrics that a prompt lacks. A reference that it lacks is masked in either case."""

    MASKED = "masked"  # as in the paper
    ENCODED = "encoded"  # as in the released code: the empty text's own tokens


@dataclass(frozen=True)
class PromptInput:
    """A prompt. Empty texts and None are absent."""

    text: str = ""
    lyrics: str = ""
    reference: Sound | None = None


@dataclass(frozen=True)
class Reduction:
    """Token reduction: so many neighbouring tokens become their mean before they enter the model. The last may be of
    fewer."""

    text: int = 1
    lyrics: int = 1
    reference: int = 1
    sound: int = 1


@dataclass(frozen=True)
class InputSettings:
    """Preprocessing of tokens before they enter the model, as in training."""

    absent: AbsentModality = AbsentModality.MASKED
    reduction: Reduction = field(default_factory=Reduction)


class Batch(NamedTuple):
    """In the order that CmiRm takes it: `model(*batch)`."""

    prompt_tokens: Tensor
    prompt_mask: Tensor
    eval_tokens: Tensor
    eval_mask: Tensor

    def to(self, device: torch.device) -> Batch:
        return Batch(*(part.to(device) for part in self))


def tokens_of_prompts(
    prompts: Sequence[PromptInput], encoder: MusicEncoder, feeding: InputSettings
) -> list[Tensor | ExampleError]:
    """In the order asked: (tokens, width) of text, lyrics and reference one after the other, of no rows where all are
    absent; or why a reference cannot be heard. Of a reference, the beginning is heard, as of a sound."""
    texts = _encode_texts(
        [text for prompt in prompts for text in (prompt.text, prompt.lyrics)], encoder, feeding
    )
    present = [prompt.reference for prompt in prompts if prompt.reference is not None]
    references = iter(encoder.of_spans([Span(sound, 0.0, HEARD_SECONDS) for sound in present]))
    joined: list[Tensor | ExampleError] = []
    for prompt, text, lyrics in zip(prompts, texts[::2], texts[1::2], strict=True):
        parts = [
            pool_tokens(text, feeding.reduction.text),
            pool_tokens(lyrics, feeding.reduction.lyrics),
        ]
        reference = None if prompt.reference is None else next(references)
        if isinstance(reference, ExampleError):
            joined.append(reference)
            continue
        if reference is not None:
            parts.append(pool_tokens(reference, feeding.reduction.reference))
        joined.append(torch.cat(parts))
    return joined


def tokens_of_sounds(
    spans: Sequence[Span], encoder: MusicEncoder, feeding: InputSettings
) -> list[Tensor | ExampleError]:
    """In the order asked: (tokens, width), or why there are none."""
    return [
        tokens if isinstance(tokens, ExampleError) else pool_tokens(tokens, feeding.reduction.sound)
        for tokens in encoder.of_spans(spans)
    ]


def pool_tokens(tokens: Tensor, factor: int) -> Tensor:
    """Means of `factor` neighbours, over those there are at the end."""
    if factor == 1 or not len(tokens):
        return tokens
    return torch.stack([part.mean(dim=0) for part in torch.split(tokens, factor)])


def collate(prompts: Sequence[Tensor], sounds: Sequence[Tensor]) -> Batch:
    """Prompts (tokens, width), of no rows where nothing was asked for, and as many sounds, padded."""
    prompt_tokens, prompt_mask = _pad(prompts)
    eval_tokens, eval_mask = _pad(sounds)
    return Batch(prompt_tokens, prompt_mask, eval_tokens, eval_mask)


def _encode_texts(texts: Sequence[str], encoder: MusicEncoder, feeding: InputSettings) -> list[Tensor]:
    nothing = torch.zeros(0, encoder.width)
    present = [text for text in texts if text.strip() or feeding.absent is AbsentModality.ENCODED]
    encoded = iter(encoder.of_texts([text if text.strip() else "" for text in present]))
    return [
        next(encoded) if text.strip() or feeding.absent is AbsentModality.ENCODED else nothing
        for text in texts
    ]


def _pad(sequences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(n, longest, width) and (n, longest); `longest` is at least 1."""
    width = sequences[0].shape[1]
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    # The zero token that a prompt without any consists of is here for all, and cut off where some have others.
    filled = [sequence if len(sequence) else torch.zeros(1, width) for sequence in sequences]
    padded = pad_sequence(filled, batch_first=True)
    return padded, torch.arange(padded.shape[1])[None] < lengths[:, None]
