"""What a judge makes of many answers: prepared once, read in batches of even length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from scoring.backbones.answer_encoders import AnswerEncoder, on_device
from scoring.metrics.contract import ExampleError
from scoring.metrics.orca_heads import RatingHead
from scoring.training.contract import RatedAnswer

# Together, padded to the longest of a batch, in the encoder's own measure (tokens, for a language model).
_SIZE_AT_ONCE = 2**15
_ANSWERS_AT_ONCE = 256


def prepared(encoder: AnswerEncoder, answers: Sequence[RatedAnswer]) -> list[Any | ExampleError]:
    """In their order; an ExampleError in the place of each answer that cannot be read."""
    try:
        return list(encoder.prepare(answers))
    except ExampleError as error:
        if len(answers) == 1:
            return [error]
    return [prepared(encoder, [answer])[0] for answer in answers]


@torch.no_grad()
def read(
    encoder: AnswerEncoder, head: RatingHead, parts: Sequence[Any], *, device: torch.device
) -> torch.Tensor:
    """What the head says of prepared answers, in their order, on the CPU. Leaves both in evaluation mode."""
    encoder.eval()
    head.eval()
    if not parts:
        return torch.empty(0, head.linear.out_features)
    order = sorted(range(len(parts)), key=lambda place: encoder.size(parts[place]))
    found = []
    for batch in _batches(encoder, [parts[place] for place in order]):
        found.append(head(encoder(on_device(encoder.collate(batch), device))).cpu())
    back = torch.empty(len(parts), dtype=torch.long)
    back[order] = torch.arange(len(parts))
    return torch.cat(found)[back]


def _batches(encoder: AnswerEncoder, parts: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Of parts sorted by size."""
    start = 0
    for end in range(1, len(parts) + 1):
        full = end - start == _ANSWERS_AT_ONCE
        if end == len(parts) or full or (end - start + 1) * encoder.size(parts[end]) > _SIZE_AT_ONCE:
            yield parts[start:end]
            start = end
